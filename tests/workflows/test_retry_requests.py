"""A retry may cancel an open run first; its take begins when what runs has ended."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from events.models import AuditEntry
from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from executions.triggering.triggers import Override, run_task
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, InvalidInput
from shared.ids import new_id
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes.changes import delete
from tests.factories import ACTOR, make_tenant
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflow_steps import Held, claim, end, ended_run, run_step, start_step, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    begin_take,
    calls,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows import retry_requests
from workflows.control import Scope, cancel_run
from workflows.retry_requests import begin_wanted, begin_wanted_in, request_retry
from workflows.retrying import Retry

pytestmark = pytest.mark.django_db
CHAIN = [calls("a", payload="{{ input }}"), calls("b", "a"), calls("c", "b"), calls("other")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def run_id(tenant: Tenant) -> UUID:
    """Return a run of which ``a`` has succeeded, and ``b`` and ``other`` run."""
    run_id = begin_run(make_workflow(tenant, CHAIN), "given")
    run_step(run_id, "a")
    for row in claim(run_id).values():
        start_step(row)
    return run_id


def retry(tenant: Tenant, run_id: UUID, **parts: Any) -> int:
    wanted = Retry(**{"cancel_running": True, **parts})
    return request_retry(tenant.id, run_id, wanted, actor=ACTOR)


def end_all(run_id: UUID, status: str = "CANCELLED") -> None:
    for row in running(run_id):
        end(row, status)
    go_on(run_id)


def running(run_id: UUID) -> list[Any]:
    found = Execution.objects.filter(run_id=run_id, step__isnull=False, status="RUNNING")
    return [_row(one) for one in found.order_by("step")]


def _row(one: Execution) -> Any:
    return Held(one.id, one.fencing_token or 0, one.attempt, one.lease_expires_at)


def starts(run_id: UUID) -> list[int]:
    """Return how many executions each step of the chain has had."""
    return [Execution.objects.filter(run_id=run_id, step=step).count() for step in (1, 2, 3, 4)]


def test_without_the_wish_an_open_run_is_refused(tenant: Tenant, run_id: UUID):
    with pytest.raises(Conflict) as refused:
        retry(tenant, run_id, cancel_running=False)

    assert refused.value.code == "still_running"
    assert Execution.objects.filter(cancel_requested_at__isnull=False).count() == 0


def test_what_runs_is_cancelled_and_the_take_begins_when_it_has_ended(tenant: Tenant, run_id: UUID):
    assert retry(tenant, run_id) == 2

    begin_wanted([run_id])
    assert WorkflowRun.objects.get(pk=run_id).take == 1
    go_on(run_id)
    end_all(run_id)
    assert status_of(run_id) == "CANCELLED"
    begin_wanted_in(EVERYWHERE)
    begin_take(run_id)

    assert states(run_id) == {"a": "SUCCEEDED", "b": "OPEN", "c": "PENDING", "other": "OPEN"}
    assert work_on(run_id) == ["b", "other", "c"]
    assert status_of(run_id) == "SUCCEEDED"
    assert starts(run_id) == [1, 2, 1, 2]
    assert payloads_of(run_id, 1) == ["given"]


def test_what_is_not_started_is_taken_back_and_the_take_has_its_own_input(
    tenant: Tenant, on_commit: Any
):
    run_id = begin_run(make_workflow(tenant, CHAIN), "given")
    claim(run_id)

    with on_commit(execute=True):
        assert retry(tenant, run_id, override=Override("another")) == 2
    begin_wanted([run_id])
    begin_take(run_id)

    assert ended_run_of(run_id, 1).status == "CANCELLED"
    assert WorkflowRun.objects.get(pk=run_id).take == 2
    assert payloads_of(run_id, 1) == ["given", "another"]
    assert "workflow_retries" not in tables_with_rows()


def ended_run_of(run_id: UUID, take: int) -> Any:
    return EndedWorkflowRun.objects.get(pk=run_id, take=take)


def test_a_step_that_succeeds_all_the_same_does_not_run_again(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id)
    go_on(run_id)
    first, second = running(run_id)
    end(first)
    end(second, "CANCELLED")
    go_on(run_id)

    begin_wanted([run_id])
    begin_take(run_id)

    assert work_on(run_id) == ["c", "other"]
    assert starts(run_id) == [1, 1, 1, 2]


def test_where_all_has_succeeded_before_it_could_be_cancelled_nothing_runs_again(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    start_step(claim(run_id)["a"])
    retry(tenant, run_id)
    go_on(run_id)
    end_all(run_id, "SUCCEEDED")

    begin_wanted([run_id])

    assert ended_run(run_id).status == "SUCCEEDED"
    assert tables_with_rows() == ["ended_workflow_runs", "workflow_steps"]
    entry = AuditEntry.objects.get(action="run.retry_refused")
    assert json.loads(entry.after or "") == {"code": "nothing_to_retry", "from": "failed"}


def test_a_retry_from_a_step_lets_the_other_branches_go_on_too(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id, key="a")
    go_on(run_id)
    end_all(run_id)
    begin_wanted([run_id])
    begin_take(run_id)

    assert work_on(run_id) == ["a", "other", "b", "c"]
    assert status_of(run_id) == "SUCCEEDED"


def test_an_ended_run_is_retried_at_once(tenant: Tenant, run_id: UUID):
    end_all(run_id, "FAILED")

    assert retry(tenant, run_id) == 2

    assert WorkflowRun.objects.get(pk=run_id).take == 2
    assert not AuditEntry.objects.filter(action="run.cancelled").exists()


def test_a_take_that_has_not_begun_is_cancelled_and_asked_for_anew(tenant: Tenant, run_id: UUID):
    end_all(run_id, "FAILED")
    retry(tenant, run_id, cancel_running=False)

    assert retry(tenant, run_id, override=Override("another")) == 3
    go_on(run_id)
    begin_wanted([run_id])
    begin_take(run_id)

    assert WorkflowRun.objects.get(pk=run_id).take == 3
    assert starts(run_id) == [1, 2, 0, 2]


def test_a_later_cancel_takes_the_wish_back(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id)
    go_on(run_id)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    end_all(run_id)

    begin_wanted_in(EVERYWHERE)

    assert ended_run(run_id).take == 1


def test_the_latest_wish_counts_and_makes_one_take(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id, override=Override("first"))
    go_on(run_id)
    retry(tenant, run_id, key="a", override=Override("second"))
    end_all(run_id)

    begin_wanted([run_id])
    begin_wanted([run_id])
    begin_take(run_id)

    assert payloads_of(run_id, 1) == ["given", "second"]
    assert WorkflowRun.objects.get(pk=run_id).take == 2


@pytest.mark.parametrize(
    ("parts", "error"),
    [({"key": "nothing"}, InvalidInput), ({"override": Override("\0")}, InvalidInput)],
)
def test_what_the_take_would_be_refused_for_cancels_nothing(
    tenant: Tenant, run_id: UUID, parts: Any, error: type[Exception]
):
    with pytest.raises(error):
        retry(tenant, run_id, **parts)

    assert WorkflowRun.objects.get(pk=run_id).phase == "running"
    assert "workflow_retries" not in tables_with_rows()


def test_a_run_of_a_deleted_workflow_is_not_cancelled_for_a_retry(tenant: Tenant, run_id: UUID):
    delete(Task.objects.get())

    with pytest.raises(Conflict) as refused:
        retry(tenant, run_id)

    assert refused.value.code == "task_deleted"
    assert WorkflowRun.objects.get(pk=run_id).phase == "running"


def test_a_run_that_has_not_begun_has_nothing_to_retry(tenant: Tenant):
    run = run_task(tenant.id, make_workflow(tenant, CHAIN).id, None, actor=ACTOR)

    with pytest.raises(Conflict) as refused:
        retry(tenant, run.id)

    assert refused.value.code == "nothing_to_retry"


def test_the_wish_is_audited_in_the_name_of_who_made_it(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id)
    go_on(run_id)
    end_all(run_id)
    begin_wanted([run_id])

    found = AuditEntry.objects.filter(object_id=run_id).order_by("id")
    assert [(one.action, one.actor) for one in found] == [
        ("run.cancelled", ACTOR.name),
        ("run.retried", ACTOR.name),
    ]


def test_the_input_of_a_wish_is_not_readable_at_rest(tenant: Tenant, run_id: UUID):
    retry(tenant, run_id, override=Override("hidden input"))

    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM workflow_retries")
        [(sealed,)] = cursor.fetchall()
    assert b"hidden" not in bytes(sealed)


@pytest.mark.logs("run_retry.unreadable")
def test_a_wish_that_no_key_opens_keeps_no_other_from_its_take(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    begun: list[UUID] = []

    def begin(run_id: UUID, tenant_id: UUID) -> None:
        if not begun:
            begun.append(run_id)
            raise DecryptionFailed
        begun.append(run_id)

    monkeypatch.setattr(retry_requests, "_begin_one", begin)
    wishes = [(new_id(), tenant.id) for _ in range(2)]

    retry_requests._begin(wishes)

    assert begun == [run_id for run_id, _ in wishes]
