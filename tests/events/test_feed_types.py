from __future__ import annotations

import re
from pathlib import Path

from events.feed_types import TYPES, shown_data
from executions.states import MOVES

ROOT = Path(__file__).resolve().parents[2]


def test_every_move_of_an_execution_has_a_type():
    assert {move.event for move in MOVES} <= set(TYPES)


def test_the_page_of_events_names_the_same_types():
    page = (ROOT / "docs/reference/events.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `([a-z_]+\.[a-z]+)` \|", page, re.MULTILINE)) == set(TYPES)


def test_only_listed_fields_are_shown():
    data = {"unit": "runs", "limit": 3, "payload": "secret"}

    assert shown_data("budget.near", data) == {"unit": "runs", "limit": 3}
    assert shown_data("execution.failed", data) is None
    assert shown_data("budget.near", None) is None
    assert shown_data("budget.near", ["limit"]) is None
