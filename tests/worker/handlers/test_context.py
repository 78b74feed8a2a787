from __future__ import annotations

from datetime import UTC, datetime

import pytest

from worker.handlers.context import Context
from worker.handlers.frames import Answer, Job

JOB: Job = {
    "token": 1,
    "handler": "invoice",
    "execution_id": "e",
    "task_id": "t",
    "attempt": 2,
    "scheduled_for": "2026-11-20T08:00:00.000Z",
    "payload": {"n": 1},
    "last_progress": None,
}


def test_it_tells_what_the_run_is():
    context = Context(JOB, lambda said: None)

    assert (context.execution_id, context.task_id, context.attempt) == ("e", "t", 2)
    assert context.scheduled_for == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert (context.payload, context.last_progress) == ({"n": 1}, None)
    assert context.log.name == "handler.invoice"


def test_a_cancel_is_seen_and_waited_for():
    context = Context(JOB, lambda said: None)
    assert not context.wait(0.0)
    assert not context.cancelled

    context.cancel()

    assert context.wait(60.0)
    assert context.cancelled


def test_progress_is_said():
    said: list[Answer] = []

    Context(JOB, said.append).progress({"row": 7})

    assert said == [{"verb": "progress", "value": {"row": 7}}]


@pytest.mark.parametrize(("value", "error"), [("x" * 20_000, ValueError), ({1}, TypeError)])
def test_progress_that_cannot_be_kept_is_refused(value, error):
    with pytest.raises(error):
        Context(JOB, lambda said: None).progress(value)
