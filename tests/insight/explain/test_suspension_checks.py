"""Explain, the ledger and waiting work name the suspension of the tenant as what holds them."""

from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering import triggers
from insight.explain.answer import Check, Explanation
from insight.explain.explanation import explain_execution, explain_task
from insight.explain.waiting import waiting_for
from insight.occurrences import place_of, read_occurrences
from tenants.models import Tenant
from tests.executions.changes.changes import pause
from tests.factories import ACTOR, executions_of, make_task, once, prepare, release, reload, start
from tests.insight.explain.cast import MINUTE, minutely, row, this_minute
from tests.support.cursors import change_task
from tests.support.suspending import resume, suspend

pytestmark = pytest.mark.django_db


def check_of(found: Explanation, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


def explained(execution: Execution) -> Explanation:
    return explain_execution(execution, database_now())


def test_a_coming_instant_of_a_suspended_tenant_waits_for_the_tenant(alpha: Tenant):
    task = minutely(alpha)
    suspend(alpha)

    found = explain_task(reload(task), this_minute(5 * MINUTE), database_now())

    assert found.first_blocker is not None
    assert (found.first_blocker.name, found.state) == ("tenant_active", "waits")
    assert "Alpha, is suspended since" in found.first_blocker.evidence
    assert "misfire policy decides" in found.first_blocker.evidence
    assert "It waits: the tenant, Alpha, is suspended" in found.verdict
    assert check_of(found, "task_active").ok is True
    assert found.estimated_start is None


def test_an_instant_that_the_policy_will_skip_will_not_run(alpha: Tenant):
    task = minutely(alpha, {"misfire_policy": "skip"}, next_run_at=this_minute(-MINUTE))
    suspend(alpha)

    found = explain_task(reload(task), this_minute(-MINUTE), database_now())

    assert (found.first_blocker and found.first_blocker.name) == "tenant_active"
    assert found.state == "will_not_run"


def test_work_that_is_held_waits_for_the_tenant(alpha: Tenant):
    task = make_task(alpha, once())
    prepare()
    suspend(alpha)
    [execution] = executions_of(task)

    found = explained(execution)
    waits = waiting_for(execution, reload(task), database_now())

    assert found.first_blocker is not None
    assert (found.first_blocker.name, found.state) == ("tenant_active", "waits")
    assert "It starts when the tenant is resumed." in found.first_blocker.evidence
    assert waits is not None
    assert (waits["what"], waits["until"]) == ("tenant", None)


def test_a_run_by_hand_of_a_paused_task_waits_for_the_tenant_alone(alpha: Tenant):
    task = make_task(alpha)
    pause(task)
    triggers.run_task(alpha.id, task.id, None, actor=ACTOR)
    suspend(alpha)

    found = explained(executions_of(task)[0])

    assert (found.first_blocker and found.first_blocker.name) == "tenant_active"


def test_a_paused_task_of_a_suspended_tenant_names_its_pause_first_and_the_tenant_too(
    alpha: Tenant,
):
    task = minutely(alpha)
    pause(task)
    suspend(alpha)

    found = explain_task(reload(task), this_minute(5 * MINUTE), database_now())

    assert (found.first_blocker and found.first_blocker.name) == "task_active"
    assert check_of(found, "tenant_active").ok is False


def test_what_runs_is_held_up_by_no_suspension(alpha: Tenant):
    task = make_task(alpha, once())
    prepare()
    [claimed] = release()
    start([claimed])
    suspend(alpha)

    found = explained(executions_of(task)[0])

    assert (found.first_blocker, found.state) == (None, "runs")
    assert "Running executions may end." in check_of(found, "tenant_active").evidence


@pytest.mark.parametrize(
    ("reason", "status", "state", "ok", "says"),
    [
        ("tenant_suspended", "SKIPPED", "did_not_run", False, "It fell into a suspension"),
        ("suspended_coalesced", "SUCCEEDED", "ran", True, "suspension of the tenant and ran after"),
        ("suspended_replayed", "SUCCEEDED", "ran", True, "suspension of the tenant and ran after"),
    ],
)
def test_what_a_suspension_decided_is_told_by_its_reason(
    alpha: Tenant, reason: str, status: str, state: str, ok: bool, says: str
):
    found = explained(row(minutely(alpha), this_minute(-MINUTE), status, reason=reason))

    told = check_of(found, "tenant_active")
    assert (found.state, told.ok) == (state, ok)
    assert says in told.evidence
    if not ok:
        assert found.first_blocker == told
        assert "policy, coalesce, did not run it" in told.evidence


def test_an_instant_that_no_scheduler_has_decided_on_after_the_end_names_the_policy(
    alpha: Tenant,
):
    task = minutely(alpha)
    suspend(alpha)
    resume(alpha)
    change_task(task.pk, next_run_at=this_minute(-MINUTE))

    found = explain_task(reload(task), this_minute(-MINUTE), database_now())

    told = check_of(found, "misfire")
    assert "suspension of the tenant; the misfire policy, coalesce, decides" in told.evidence


def test_the_ledger_expects_nothing_of_a_suspended_tenant_and_says_why(alpha: Tenant):
    task = minutely(alpha)
    suspend(alpha)
    now = database_now()

    place = place_of(reload(task), since=now, until=now + 10 * MINUTE, cursor=None, now=now)
    found = read_occurrences(reload(task), place, 50, now=now).entries

    assert len(found) >= 9
    assert {(entry.status, entry.reason, entry.due_at) for entry in found} == {
        ("EXPECTED", "tenant_suspended", None)
    }
