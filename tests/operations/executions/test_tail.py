from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import pytest

from events.models import Event
from executions.loop.clocks import database_now
from operations.executions import tail
from operations.executions.tail import Changes
from shared.ids import first_id_at, new_id
from tests.factories import finish, make_execution, release, start
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.events import subjects_of


def _follow(monkeypatch, *steps) -> None:
    """Take a step at each pause of the command, then press Ctrl-C."""
    left = iter(steps)

    def wait(_: float) -> None:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(tail, "wait_for", wait)


def test_the_latest_come_oldest_first(alpha, beta):
    first, second = make_execution(alpha, "SUCCEEDED"), make_execution(beta, "FAILED")

    said = call("executions", "tail", "--json")
    document = read_document("executions-tail", said.out)

    assert [found["id"] for found in document["executions"]] == [str(first.id), str(second.id)]
    assert str(second.id)[-12:] in call("executions", "tail", "--limit", "1").out
    assert str(first.id)[-12:] not in call("executions", "tail", "--tenant", "Beta").out


def test_following_prints_every_move_until_ctrl_c(alpha, monkeypatch):
    execution = make_execution(alpha)
    claimed = release()
    _follow(monkeypatch, lambda: start(claimed), lambda: None, lambda: finish(claimed[0]))

    said = call("executions", "tail", "-f", "--jsonl")

    states = [json.loads(line)["status"] for line in said.out.splitlines()]
    assert (said.code, states) == (130, ["QUEUED", "RUNNING", "SUCCEEDED"])
    for line in said.out.splitlines():
        assert read_document("executions-tail-line", line)["id"] == str(execution.id)


def test_lines_that_follow_stand_in_the_same_columns(alpha, monkeypatch):
    make_execution(alpha)
    claimed = release()
    _follow(monkeypatch, lambda: start(claimed))

    heading, first, second = call("executions", "tail", "-f").out.splitlines()

    assert first.index("Once") == second.index("Once") == heading.index("task")


def test_following_keeps_to_the_filters(alpha, beta, monkeypatch):
    make_execution(alpha)
    claimed = release()
    _follow(monkeypatch, lambda: start(claimed), lambda: finish(claimed[0]))

    said = call("executions", "tail", "-f", "--jsonl", "--status", "SUCCEEDED")
    assert [json.loads(line)["status"] for line in said.out.splitlines()] == ["SUCCEEDED"]
    _follow(monkeypatch, lambda: make_execution(alpha))
    assert call("executions", "tail", "-f", "--jsonl", "--tenant", "Beta").out == ""


def test_a_stream_is_no_one_document(db):
    assert call("executions", "tail", "-f", "--json").code == 2
    assert call("executions", "tail", "--interval", "0").code == 2
    assert call("executions", "tail", "--tenant", "Nobody").code == 3


def test_changes_are_told_once_and_late_ones_are_not_lost(alpha):
    changes = Changes(None, database_now())
    first = make_execution(alpha)

    assert changes.read() == ([first.id], False)
    assert changes.read() == ([], False)
    # A slow transaction: its event is older than those that have been read.
    older = UUID(int=first_id_at(database_now() - timedelta(seconds=2)).int | 1)
    Event.objects.create(id=older, tenant_id=alpha.id, name="execution.queued", subject_id=first.id)
    assert changes.read() == ([first.id], False)


@pytest.mark.parametrize("most", [1, 2])
def test_more_changes_than_are_read_are_said(alpha, monkeypatch, most):
    changes = Changes(alpha.id, database_now())
    make_execution(alpha)
    make_execution(alpha)
    monkeypatch.setattr(tail, "_MOST", most)

    assert changes.read()[1] is (len(subjects_of("execution.materialized")) > most)


def test_each_execution_of_a_batch_is_told_and_the_latest_are_kept(alpha, monkeypatch):
    changes = Changes(alpha.id, database_now())
    make_execution(alpha)
    changes.read()
    moved = [new_id() for _ in range(5)]
    Event.objects.create(
        id=new_id(), tenant_id=alpha.id, name="execution.queued", subjects=moved, tasks=moved
    )

    assert changes.read() == (moved, False)
    assert changes.read() == ([], False)

    again = Changes(alpha.id, database_now())
    monkeypatch.setattr(tail, "_MOST", 2)
    assert again.read() == (moved[-3:], True)
