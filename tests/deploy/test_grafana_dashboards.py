"""The dashboard shows series that there are, from the data source that its reader chooses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import yaml

from tests.architecture import tree
from tests.support import promql

FOLDER = tree.REPOSITORY / "deploy/grafana"
TEXT = (FOLDER / "dashboards/punctual.json").read_text(encoding="utf-8")
DASHBOARD = orjson.loads(TEXT)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
each_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
#: The units of these panels, as Grafana names them.
UNITS = {"s", "short", "percentunit", "ops", "reqps", "dateTimeFromNow"}


def _queries(panel: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from panel["targets"]


def test_it_has_its_five_parts_in_order():
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]

    assert rows == ["Overview", "Pools", "Destinations", "Tenants", "Workflows"]


@each_panel
def test_a_query_names_only_series_labels_and_values_of_the_catalogue(panel: dict[str, Any]):
    for query in _queries(panel):
        # Its windows follow the resolution of the page.
        expression = query["expr"].replace("$__rate_interval", "5m")
        assert list(promql.breaches(expression)) == []
        assert promql.bare_names(expression) == set()
        assert {one.value_of("job") for one in promql.selectors(expression)} == {"$job"}


@each_panel
def test_a_legend_names_labels_that_its_query_leaves(panel: dict[str, Any]):
    for query in _queries(panel):
        shown = set(re.findall(r"\{\{(\w+)\}\}", query["legendFormat"]))
        expression = query["expr"]
        grouped = promql.grouped(expression) - {"le"}
        if re.search(r"\b(sum|max|min)\b", expression):
            assert shown == grouped
        else:
            [one] = promql.selectors(expression)
            assert shown <= (promql.labels_of(one.name) or set())
            assert query["legendFormat"]


@each_panel
def test_a_panel_has_a_unit_and_says_what_it_shows(panel: dict[str, Any]):
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["description"].endswith(".")
    assert panel["targets"]


def test_the_data_source_is_the_readers_choice():
    sources = re.findall(r'"datasource": \{"type": "prometheus", "uid": "(.*?)"\}', TEXT)
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}

    assert set(sources) == {"${datasource}"}
    assert len(sources) == len(PANELS) + 1  # the variable `job`, too
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == (
        "datasource",
        "prometheus",
    )
    assert variables["job"]["query"] == "label_values(punctual_build_info, job)"
    assert DASHBOARD["id"] is None


def test_no_two_panels_have_one_id_or_one_place():
    every = DASHBOARD["panels"]
    cells = [
        (x, y)
        for panel in every
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len({panel["id"] for panel in every}) == len(every)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_it_is_provided_from_its_folder():
    text = (FOLDER / "provisioning/dashboards/punctual.yaml").read_text(encoding="utf-8")
    [provider] = yaml.safe_load(text)["providers"]

    assert provider["type"] == "file"
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards/punctual"
    guide = (tree.REPOSITORY / "docs/howto/alert-with-prometheus.md").read_text(encoding="utf-8")
    assert provider["options"]["path"] in guide
