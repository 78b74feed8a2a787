from __future__ import annotations

import pytest

from dashboard.pictures.budget import BudgetBar, budget_bars, part_text
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts


def _bar(spent: float, label: str = "all", total: int = 1_000, bad: int = 1) -> BudgetBar:
    return BudgetBar(label, total, bad, spent)


@pytest.mark.parametrize("spent", [0.0, 0.0001, 0.5, 1.0, 12.5])
def test_any_budget_keeps_the_rules(spent: float):
    assert_keeps_the_rules(budget_bars("Error budget spent", [_bar(spent), _bar(0.0, "low")]))


def test_a_bar_is_as_long_as_what_is_spent_and_ends_where_all_is():
    markup = budget_bars("Spent", [_bar(0.25), _bar(3.0, "high"), _bar(0.8, "low")])

    assert [one.get("width") for one in having(markup, "gauge-fill")] == ["25%", "100%", "80%"]
    assert len(having(markup, "gauge-over")) == 1
    assert len(having(markup, "gauge-high")) == 1
    assert "25.0 % spent: 1 of 1,000 missed it." in markup


def test_the_axis_goes_from_nothing_to_the_whole_budget():
    markup = budget_bars("Spent", [_bar(0.25), _bar(0.5, "low")])

    assert texts(markup, "tick") == ["all", "low", "0%", "25%", "50%", "75%", "100%"]


def test_the_table_has_a_row_for_each_bar():
    found = rows(budget_bars("Spent", [_bar(0.0421, total=12_345, bad=5), _bar(0.0, "low")]))

    assert found == [["all", "12,345", "5", "4.2 %"], ["low", "1,000", "1", "0.0 %"]]


def test_without_a_count_the_whole_budget_is_left():
    assert "the whole budget is left" in budget_bars("Spent", [_bar(0.0, total=0, bad=0)])


@pytest.mark.parametrize(
    ("spent", "text"),
    [(0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.5, "50.0 %"), (10.0, "1000.0 %"), (99.0, "> 1,000 %")],
)
def test_extreme_parts_have_words(spent: float, text: str):
    assert part_text(spent) == text
