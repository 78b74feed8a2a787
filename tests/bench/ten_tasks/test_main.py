"""What the report about ten tasks judges and tells, from figures that are given."""

from __future__ import annotations

from typing import Any

from bench.ten_tasks.__main__ import LIMIT_SECONDS, lines_of, missed
from bench.ten_tasks.tasks import TASKS


def done(**parts: Any) -> dict[str, Any]:
    figures = {"clicks": 3, "keys": 12, "seconds": 9.4, "console_seconds": 0.61, "missed": ""}
    return {"task": "why", "by": "mouse", **figures, **parts}


def test_tasks_that_are_done_within_their_limit_are_kept():
    assert not missed([done(), done(by="keys", seconds=LIMIT_SECONDS)])


def test_a_task_that_cannot_be_done_is_missed_and_named():
    lost = done(missed="the row is not reached by j")

    assert missed([done(), lost])
    assert lines_of([lost])[-1] == "  missed: the row is not reached by j"


def test_a_task_that_takes_longer_than_its_limit_is_missed():
    assert missed([done(seconds=LIMIT_SECONDS + 0.1)])


def test_a_line_has_clicks_keys_and_both_times():
    assert lines_of([done()])[-1].split() == ["why", "mouse", "3", "12", "9.4", "0.61"]


def test_there_are_ten_tasks_with_names_of_their_own():
    assert len({one.name for one in TASKS}) == len({one.asked for one in TASKS}) == 10
