"""The rules for Prometheus name series that exist, fire when they should, and lead to a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.architecture import tree
from tests.support import promql
from tests.support.promtool import promtool

RULES = tree.REPOSITORY / "deploy/prometheus/punctual.rules.yaml"
CASES = sorted((tree.REPOSITORY / "tests/deploy").glob("*_test.yaml"))
RUNBOOKS = tree.REPOSITORY / "docs/operations/runbooks.md"
JOB = "punctual"


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALL = _rules()
RECORDED = {rule["record"]: rule for rule in ALL if "record" in rule}
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
each_rule = pytest.mark.parametrize(
    "rule", ALL, ids=lambda rule: rule.get("alert", rule.get("record"))
)
each_alert = pytest.mark.parametrize("name", ALERTS)


def test_no_rule_takes_the_place_of_another():
    assert len(ALL) == len(RECORDED) + len(ALERTS)


@each_rule
def test_a_rule_names_only_series_labels_and_values_of_the_catalogue(rule: dict[str, Any]):
    assert list(promql.breaches(rule["expr"])) == []
    # Any other exporter may have a `queue_depth`.
    assert {one.value_of("job") for one in promql.selectors(rule["expr"])} <= {JOB}
    assert promql.bare_names(rule["expr"]) <= set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_is_used_by_an_alert(name: str):
    assert any(name in promql.bare_names(rule["expr"]) for rule in ALERTS.values())


@each_alert
def test_an_alert_says_what_is_wrong_how_urgent_it_is_and_where_to_read_on(name: str):
    rule = ALERTS[name]

    assert name.startswith("Punctual")
    assert rule["labels"] in ({"severity": "critical"}, {"severity": "warning"})
    assert set(rule["annotations"]) == {"summary", "runbook_url"}
    assert re.fullmatch(r"\S.{20,160}\.", rule["annotations"]["summary"])


@each_alert
def test_the_labels_of_a_summary_are_those_of_the_alert(name: str):
    rule = ALERTS[name]
    inserted = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))

    labels = set().union(
        *(promql.labels_of(one.name) or () for one in promql.selectors(rule["expr"]))
    )
    left = promql.grouped(rule["expr"]) if re.search(r"\b(sum|max|min)\b", rule["expr"]) else labels
    assert inserted <= left


@each_alert
def test_the_page_of_an_alert_has_what_it_means_what_to_look_at_and_what_mends_it(name: str):
    page, _, anchor = ALERTS[name]["annotations"]["runbook_url"].partition("#")

    assert tree.REPOSITORY / page == RUNBOOKS
    part = _parts()[anchor]
    assert name.lower().startswith(anchor)
    for heading in ("**Means.**", "**Look at.**", "**Mend.**"):
        assert part.count(heading) == 1, heading
    assert re.search(r"`manage\.py |`curl |`[a-z]+ctl ", part), "no command to begin with"


def test_each_page_of_the_runbooks_has_an_alert():
    anchors = {rule["annotations"]["runbook_url"].partition("#")[2] for rule in ALERTS.values()}

    assert set(_parts()) == anchors


def _parts() -> dict[str, str]:
    """Return the parts of the page by the anchors that Markdown makes of their headings."""
    text = RUNBOOKS.read_text(encoding="utf-8")
    parts = re.split(r"^## (Punctual\w+)$", text, flags=re.MULTILINE)
    return {title.lower(): part for title, part in zip(parts[1::2], parts[2::2], strict=True)}


def _cases() -> Iterator[dict[str, Any]]:
    for path in CASES:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            yield from test["alert_rule_test"]


@each_alert
def test_an_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(name: str):
    found = [bool(case["exp_alerts"]) for case in _cases() if case["alertname"] == name]

    assert set(found) == {True, False}


def test_the_cases_are_of_these_rules_and_of_series_that_there_are():
    tests = [
        test for path in CASES for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
    ]
    series = [one["series"] for test in tests for one in test["input_series"]]

    assert {case["alertname"] for case in _cases()} == set(ALERTS)
    assert [found for one in series if (found := list(promql.breaches(one)))] == []


def test_the_rules_hold_in_their_cases():
    checked = promtool("check", "rules", str(RULES))
    tested = promtool("test", "rules", *map(str, CASES))

    assert checked.returncode == 0, checked.stdout.decode() + checked.stderr.decode()
    assert tested.returncode == 0, tested.stdout.decode() + tested.stderr.decode()
