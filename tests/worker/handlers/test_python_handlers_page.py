"""The example of the how-to page runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from worker.handlers import registry
from worker.handlers.context import Context
from worker.handlers.frames import Job
from worker.handlers.registry import Permanent

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "python-handlers.md"


def run(payload: Any, last_progress: Any = None) -> tuple[Any, list[Any]]:
    """Run the page's handler; return its result and what it said."""
    said: list[Any] = []
    job: Job = {
        "token": 1,
        "handler": "count_words",
        "execution_id": "e",
        "task_id": "t",
        "attempt": 1,
        "scheduled_for": "2026-11-20T08:00:00.000Z",
        "payload": payload,
        "last_progress": last_progress,
    }
    function = registry.find("count_words")
    assert function is not None
    return function(Context(job, said.append), payload), said


@pytest.fixture(autouse=True)
def _example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})


def test_it_counts_and_says_how_far_it_is():
    result, said = run({"texts": ["one two", "three"]})

    assert result == {"words": 3}
    assert [row["value"]["text"] for row in said] == [1, 2]


def test_the_next_attempt_goes_on_where_the_last_has_stopped():
    result, said = run({"texts": ["one two", "three"]}, {"text": 1, "words": 2})

    assert result == {"words": 3}
    assert len(said) == 1


def test_a_payload_that_can_never_be_right_fails_for_good():
    with pytest.raises(Permanent):
        run({"texts": None})
