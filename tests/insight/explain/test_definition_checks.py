from __future__ import annotations

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.definition_checks import task_active, task_exists, tenant_active
from insight.explain.evidence import Situation
from tasks.models import Pause as StandingPause
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, reload
from tests.insight.explain.cast import HOUR, MINUTE, minutely, row, this_minute
from tests.support.workflows import begin_run, calls, make_workflow

pytestmark = pytest.mark.django_db


def situation(task: Task, found: Execution | None = None) -> Situation:
    at = found.scheduled_for if found else this_minute(5 * MINUTE)
    return Situation(reload(task), at, database_now(), found)


def test_what_started_before_its_task_was_deleted_was_there(alpha: Tenant):
    task = minutely(alpha)
    found = row(task, this_minute(-MINUTE), "SUCCEEDED")
    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    check = task_exists(situation(task, found))

    assert check.ok is True
    assert "was deleted at" in check.evidence


def test_a_paused_task_says_what_becomes_of_the_instant_and_how_to_resume(alpha: Tenant):
    task = minutely(alpha)
    changing.pause_task(alpha.id, task.id, Pause(note="Move.", on_resume="replay"), actor=ACTOR)

    check = task_active(situation(task))

    assert check.ok is False
    assert check.evidence.endswith("Every instant within the pause runs on resuming. Note: Move.")
    assert check.fix is not None
    assert check.fix.call == f"POST /v1/tasks/{task.id}/resume"


def test_a_pause_that_ends_before_the_instant_does_not_hold_it(alpha: Tenant):
    task = minutely(alpha)
    changing.pause_task(alpha.id, task.id, Pause(this_minute(2 * MINUTE)), actor=ACTOR)

    assert task_active(situation(task)).ok is True


def test_the_end_of_a_standing_pause_counts(alpha: Tenant):
    until = this_minute(HOUR)
    StandingPause.objects.create(tenant=alpha, scope="tenant", until=until, created_by="user:0")
    task = minutely(alpha)

    check = task_active(situation(task))

    assert (check.ok, check.until) == (False, until)
    assert "Begun by user:0." in check.evidence


def test_a_pause_of_now_says_nothing_about_what_is_decided(alpha: Tenant):
    task = minutely(alpha, status="PAUSED", paused_at=this_minute())

    for status in ("SUCCEEDED", "RUNNING", "QUEUED"):
        found = row(task, this_minute(-MINUTE), status)
        assert task_active(situation(task, found)).ok is True
        found.delete()


@pytest.mark.parametrize(
    ("reason", "says", "call"),
    [
        ("run_paused", "the run of which it is a step is paused", "/v1/workflow-runs/{}/resume"),
        ("place_paused", "its pool or its destination is paused", "/v1/pauses"),
    ],
)
def test_a_step_on_hold_says_what_is_paused(alpha: Tenant, reason: str, says: str, call: str):
    run_id = begin_run(make_workflow(alpha, [calls("a")]))
    Execution.objects.filter(run_id=run_id).update(held=True, reason=reason)
    step = Execution.objects.get(run_id=run_id)

    check = task_active(situation(step.task, step))

    assert (check.ok, check.says) == (False, says)
    assert check.fix is not None
    assert check.fix.call.endswith(call.format(run_id))


def test_a_row_that_is_held_without_a_pause_is_told(alpha: Tenant):
    task = minutely(alpha)

    check = task_active(situation(task, row(task, this_minute(-MINUTE), held=True)))

    assert check.ok is False
    assert "it is on hold" in check.says


def test_a_tenant_that_is_gone_is_no_error(alpha: Tenant):
    found = situation(minutely(alpha))
    found.task.tenant_id = found.task.pk

    assert tenant_active(found).ok is None
