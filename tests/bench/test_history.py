from __future__ import annotations

from typing import Any

from bench.history import missed_targets


def figures(kind: str, p95: float, errors: int = 0) -> dict[str, Any]:
    return {"kind": kind, "p95": p95, "errors": errors, "count": 20}


def test_a_first_page_has_less_time_than_a_filtered_one():
    found = {"list": figures("first", 250.0), "failed": figures("filtered", 250.0)}

    assert missed_targets(found) == ["target missed: list, p95 250 ms, not under 200"]


def test_what_is_not_answered_is_missed_however_fast():
    found = {"list": figures("first", 1.0, errors=2)}

    assert missed_targets(found) == ["not answered: list, 2 of 20"]


def test_within_the_targets_nothing_is_missed():
    assert missed_targets({"a": figures("first", 199.9), "b": figures("filtered", 999.9)}) == []
