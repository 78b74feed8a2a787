from __future__ import annotations

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.definition_checks import task_active
from insight.explain.evidence import Situation
from insight.explain.key_checks import concurrency_key
from insight.explain.waiting import waiting_for
from tasks.models import Task
from tasks.transitions import Pause
from tests.executions.gate.key_world import begin, look, make, own_everything
from tests.factories import ACTOR, make_task
from tests.support.limits_world import ask, limit
from tests.support.limits_world import begin as begin_runs
from tests.support.workflows import calls, make_workflow

pytestmark = pytest.mark.django_db


def situation(task: Task) -> Situation:
    row = Execution.objects.get(task_id=task.id)
    return Situation(task, row.scheduled_for, database_now(), row)


def test_a_task_without_a_key_is_not_asked(alpha):
    task = make_task(alpha)

    found = concurrency_key(Situation(task, database_now(), database_now(), None))

    assert (found.ok, found.says) == (None, "its task shares no concurrency key")


def test_who_waits_is_told_who_has_the_place_and_who_goes_before(alpha):
    first, second, third = make(alpha, 3)
    look()
    begin()
    own_everything()

    found = concurrency_key(situation(third))

    assert found.ok is False
    holder = Execution.objects.get(task_id=first.id)
    assert found.says.startswith(
        "it waits for the key customer-7: 1 of 1 in use by an execution of"
    )
    assert "1 wait before it." in found.more
    assert found.fix is not None
    assert found.fix.call == f"POST /v1/executions/{holder.id}/cancel"
    row = Execution.objects.get(task_id=third.id)
    told = waiting_for(row, third, database_now())
    assert told is not None
    assert told["what"] == "concurrency_key"
    assert task_active(situation(second)).ok is True


def test_who_has_the_place_has_passed(alpha):
    first, _ = make(alpha, 2)
    look()

    assert concurrency_key(situation(first)).ok is True


def test_a_free_key_is_about_to_give_a_place(alpha):
    first, _ = make(alpha, 2)

    found = concurrency_key(situation(first))

    assert (found.ok, found.says) == (None, "the key customer-7 is about to give it a place")


def test_a_paused_one_waits_for_its_pause(alpha):
    first, _ = make(alpha, 2)
    changing.pause_task(alpha.id, first.id, Pause(), actor=ACTOR)
    first.refresh_from_db()

    assert task_active(situation(first)).ok is False
    assert concurrency_key(situation(first)).ok is None


def test_in_strict_order_the_limit_of_its_tenant_is_told(alpha):
    task = make_workflow(alpha, [calls("a")], concurrency={"key": "k", "order": "fifo"})
    limit(alpha, runs_in_flight=1)
    ask(make_workflow(alpha, [calls("a")]))
    begin_runs()
    ask(task)
    begin_runs()

    found = concurrency_key(situation(task))

    assert found.ok is False
    assert found.says == (
        "it is the next of the key k, and waits for tenant_limit: runs in flight 1 of 1"
    )


def test_strict_order_is_told(alpha):
    _, second = make(alpha, 2, {"key": "customer-7", "order": "fifo"})
    look()
    begin()

    assert "strictly in order" in concurrency_key(situation(second)).more
