from __future__ import annotations

import pytest

from dashboard.pictures.markup import (
    Table,
    figure,
    joined,
    link,
    number,
    percent,
    plural,
    table_twin,
    tag,
)
from tests.dashboard.pictures.reading import parsed, rows

HOSTILE = "\"><script>alert(1)</script>&'"


def test_attributes_and_children_are_escaped():
    markup = tag("text", {"class": HOSTILE}, HOSTILE)

    (one,) = parsed(markup)
    assert one.get("class") == HOSTILE
    assert one.text == HOSTILE
    assert "<script" not in markup


def test_safe_markup_in_an_attribute_is_escaped_all_the_same():
    inner = tag("b", {}, "x")

    assert "<b>" not in tag("rect", {"aria-label": str(inner)})


def test_safe_children_stay_as_they_are():
    assert tag("g", {}, tag("rect", {"x": 1})) == '<g><rect x="1"></rect></g>'


def test_attributes_without_a_value_are_left_out():
    assert tag("g", {"role": None, "data-roving": ""}) == '<g data-roving=""></g>'


def test_plain_text_among_joined_parts_is_escaped():
    assert joined([tag("i", {}), tag("i", {}, "<")]) == "<i></i><i>&lt;</i>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.001, "0"), (1.0, "1"), (1.005, "1"), (2.345, "2.35"), (100.0, "100")],
)
def test_coordinates_are_short(value: float, text: str):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(-1, "0%"), (0, "0%"), (0.12345, "12.35%"), (1, "100%"), (7, "100%")]
)
def test_shares_stay_inside_the_picture(share: float, text: str):
    assert percent(share) == text


def test_a_link_without_a_target_is_a_group():
    assert link(None, {}).startswith("<g")
    assert link("/executions/1", {}) == '<a href="/executions/1"></a>'


def test_counts_have_their_noun():
    assert plural(1, "run") == "1 run"
    assert plural(1204, "run") == "1,204 runs"


def test_a_figure_says_its_summary_once_to_screen_readers():
    table = Table(("Name", "Count"), [("a", "1"), ("b", HOSTILE)])

    markup = figure("runs", "Last <runs>", "Two.", tag("svg", {}), table=table)

    root = parsed(markup)
    assert [one.get("class") for one in root] == ["picture picture-runs"]
    (summary,) = (one for one in root.iter() if one.get("class") == "picture-summary")
    assert (summary.text, summary.get("aria-hidden")) == ("Two.", "true")
    assert rows(markup) == [["a", "1"], ["b", HOSTILE]]


def test_a_picture_of_nothing_has_no_table():
    assert table_twin("Runs", Table(("Name",), [])) == ""
