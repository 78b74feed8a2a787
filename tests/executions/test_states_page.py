from __future__ import annotations

from pathlib import Path

from executions.choices import Status
from executions.states import MOVES
from executions.states_page import render_states

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "states.md"


def test_the_reference_page_is_what_the_table_says():
    assert PAGE.read_text(encoding="utf-8") == render_states()


def test_the_page_shows_every_state_and_every_move():
    lines = render_states().splitlines()

    assert all(any(line.startswith(f"| {state} |") for line in lines) for state in Status.values)
    assert all(any(line.startswith(f"| `{move.verb}` |") for line in lines) for move in MOVES)
