from __future__ import annotations

from typing import Any

from tests.support.entries import entry_of, progress_of
from worker.handlers.reporting import ProgressReport


async def test_the_first_is_said_at_once_the_rest_when_its_turn_comes_or_at_the_end():
    said: list[Any] = []
    entry = entry_of("handler")
    report = ProgressReport(entry, said.append)

    for step in range(5):
        report.put(step)
    assert [progress_of(entry, row) for row in said] == [0]
    report.flush()

    assert [progress_of(entry, row) for row in said] == [0, 4]
    assert {(row["verb"], row["id"], row["token"]) for row in said} == {
        ("progress", entry["id"], entry["token"])
    }


async def test_nothing_is_said_of_a_silent_run():
    said: list[Any] = []
    report = ProgressReport(entry_of("handler"), said.append)

    report.flush()

    assert said == []
