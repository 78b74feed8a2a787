from __future__ import annotations

import math

import pytest

from wire.costs import MOST, NO_COST, checked, cost_of_headers, cost_of_result


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("12.5", {"units": 12.5}),
        (" 3 ", {"units": 3}),
        ("0", {"units": 0}),
        ("tokens=1200, eur=0.04", {"tokens": 1200, "eur": 0.04}),
        ("eur=0.0000004", {"eur": 0}),
    ],
)
def test_a_header_holds_a_number_or_numbers_by_unit(text, cost):
    assert cost_of_headers([("Date", "x"), ("X-Cost", text)]).by_unit == cost


def test_an_answer_without_the_header_has_no_cost():
    assert cost_of_headers([("Date", "x"), ("X-Code", "1")]) == NO_COST


@pytest.mark.parametrize(
    "text",
    [
        *("", "-1", "nan", "inf", "1e9", "0x10", "1,5", "12 EUR", "١", "9" * 14, "1" * 500),
        *("tokens=", "=1", "Tokens=1", "a=1, a=2", "runs=1", "seconds=5", "a=-1", "a=1;b=2"),
        ", ".join(f"u{n}=1" for n in range(9)),
    ],
)
def test_a_header_that_is_no_cost_is_ignored_and_its_text_is_not_repeated(text):
    found = cost_of_headers([("x-cost", text)])

    assert found.by_unit == {}
    assert found.ignored.startswith("X-Cost was ignored: ")
    assert len(text) < 4 or text not in found.ignored


@pytest.mark.parametrize(
    ("result", "cost"),
    [
        ({"cost": 7}, {"units": 7}),
        ({"cost": {"tokens": 5, "eur": 0.5}, "more": 1}, {"tokens": 5, "eur": 0.5}),
    ],
)
def test_a_result_may_have_a_cost(result, cost):
    assert cost_of_result(result).by_unit == cost


@pytest.mark.parametrize("result", [None, 5, [], "cost", {}, {"costs": 1}])
def test_other_results_have_none(result):
    assert cost_of_result(result) == NO_COST


@pytest.mark.parametrize(
    "cost",
    [
        None,
        "5",
        True,
        -1,
        math.nan,
        math.inf,
        MOST + 1,
        10**400,
        [],
        {},
        {"a": "1"},
        {"A": 1},
        {1: 1},
    ],
)
def test_a_result_whose_cost_is_none_keeps_a_note(cost):
    found = cost_of_result({"cost": cost})

    assert found.by_unit == {}
    assert found.ignored.startswith("cost was ignored: ")


def test_what_came_over_the_wire_is_checked_again():
    assert checked({"units": 5}) == {"units": 5}
    for wrong in (5, {}, {"runs": 1}, {"units": -1}, {"units": math.nan}):
        with pytest.raises(ValueError, match="cost"):
            checked(wrong)
