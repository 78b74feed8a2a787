from __future__ import annotations

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from shared.instants import format_instant
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_execution, make_task, once
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_what_ran_is_explained_and_leaves_with_0(alpha: Tenant):
    execution = make_execution(alpha, "SUCCEEDED")

    said = call("explain", str(execution.id))

    assert said.code == 0
    assert "✓ outcome" in said.out
    assert "It ran, from" in said.out
    assert "✗" not in said.out


def test_what_is_blocked_is_marked_with_what_to_do_and_leaves_with_4(alpha: Tenant):
    task = make_task(alpha, daily())
    changing.pause_task(alpha.id, task.id, Pause(note="Move"), actor=ACTOR)

    said = call("explain", str(task.id)[-12:])

    assert said.code == 4
    assert "▶✗ task active" in said.out
    assert "It waits: the task is paused by test" in said.out
    assert f"What to do: Resume the task.  (POST /v1/tasks/{task.id}/resume)" in said.out


def test_checks_that_do_not_apply_are_shown_when_asked_for(alpha: Tenant):
    execution = make_execution(alpha, "SUCCEEDED")

    assert "·" not in call("explain", str(execution.id)).out.partition("\n")[2]
    assert "· bulk job" in call("explain", str(execution.id), "--all").out


def test_an_instant_of_a_task_is_explained_as_json(alpha: Tenant):
    task = make_task(alpha, daily())
    assert task.next_run_at is not None
    at = format_instant(task.next_run_at)

    said = call("explain", str(task.id), "--at", at, "--json")

    document = read_document("explain", said.out)
    assert (said.code, document["scheduled_for"], document["state"]) == (0, at, "will_run")
    assert document["first_blocker"] is None


def test_a_healthy_future_run_shows_no_cross_and_its_estimated_start(alpha: Tenant):
    said = call("explain", str(make_task(alpha, daily()).id))

    assert "Estimated start: " in said.out
    assert "… due" in said.out
    assert "✗" not in said.out
    assert "▶" not in said.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("000000000000",), 3),
        (("01a1fa7a-b5a5-85e2-b563-27366f1a90a5",), 3),
        (("000000000000", "--at", "soon"), 2),
    ],
)
def test_what_cannot_be_explained_is_refused(db: None, words: tuple[str, ...], code: int):
    assert call("explain", *words).code == code


def test_an_execution_has_its_own_instant(alpha: Tenant):
    execution = make_execution(alpha)

    said = call("explain", str(execution.id), "--at", "2h")

    assert said.code == 2
    assert "--at" in said.err


def test_tenants_are_kept_apart_when_named(alpha: Tenant, beta: Tenant):
    execution = make_execution(alpha, body=once(database_now()))

    assert call("explain", str(execution.id), "--tenant", "Beta").code == 3
    assert call("explain", str(execution.id), "--tenant", "Alpha").code in (0, 4)
