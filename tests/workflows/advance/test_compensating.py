"""A run that has failed undoes what has succeeded, where its definition says so."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.models import DeadLetter
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.factories import ACTOR, finish, make_tenant, release
from tests.support.workflows import (
    begin_run,
    begin_take,
    calls,
    ends_of,
    go_on,
    make_workflow,
    pass_time,
    payloads_of,
    states,
    status_of,
    work,
)
from workflows.control import Scope, cancel_run, pause_run, resume_run
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db
_UNDONE = -2


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def undoable(key: str, *depends_on: str, **parts: Any) -> dict[str, Any]:
    """Return a step that a call of its own undoes, which is given the step's output."""
    undo = {
        "target": {"url": f"https://api.example.com/undo-{key}"},
        "payload": {"made": "{{ steps." + key + ".output }}"},
        **parts,
    }
    return calls(key, *depends_on, compensate=undo)


def undone(run: Any) -> list[tuple[int, str]]:
    return [(end.step, end.status) for end in ends_of(run) if end.item == _UNDONE]


def all_but(*failing: str) -> Any:
    """Let these steps fail, and every other succeed with its key as output."""
    return lambda key, item: "FAILED" if key in failing and item != _UNDONE else ("SUCCEEDED", key)


def test_what_has_succeeded_is_undone_in_the_reverse_order_of_its_ends(tenant: Tenant):
    steps = [undoable("a"), undoable("b", "a"), calls("c", "b")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate"))

    work(run, all_but("c"))

    assert undone(run) == [(2, "SUCCEEDED"), (1, "SUCCEEDED")]
    assert status_of(run) == "FAILED"
    assert states(run) == {"a": "COMPENSATED", "b": "COMPENSATED", "c": "FAILED"}
    assert payloads_of(run, 2)[0] == {"made": "b"}


def test_a_run_that_succeeds_undoes_nothing(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [undoable("a")], on_failure="compensate"))

    work(run)

    assert undone(run) == []
    assert status_of(run) == "SUCCEEDED"


def test_one_that_cannot_be_undone_has_a_letter_and_keeps_no_other_from_it(tenant: Tenant):
    task = make_workflow(
        tenant, [undoable("a"), undoable("b", "a"), calls("c", "b")], on_failure="compensate"
    )
    run = begin_run(task)

    work(
        run,
        lambda key, item: "FAILED" if key == "c" or (key, item) == ("b", _UNDONE) else "SUCCEEDED",
    )

    assert undone(run) == [(2, "FAILED"), (1, "SUCCEEDED")]
    assert states(run) == {"a": "COMPENSATED", "b": "NOT_COMPENSATED", "c": "FAILED"}
    letters = DeadLetter.objects.filter(task_id=task.id).values_list("execution_id", flat=True)
    assert len(letters) == 2
    assert run in letters


def test_a_step_whose_end_is_not_known_is_undone_where_that_is_asked(tenant: Tenant):
    steps = [undoable("a", on=["TIMED_OUT"]), undoable("b", on=["SUCCEEDED"])]
    task = make_workflow(tenant, steps, on_failure="compensate")
    run = begin_run(task)

    # Both end before the run is advanced: the failure cancels nothing.
    for row in release():
        if read_definition(task, row.revision).target["url"].endswith("/a"):
            finish(row, "FAILED", outcome="TIMED_OUT", error_code="timeout_total")
        else:
            finish(row)
    go_on(run)
    work(run)

    assert sorted(undone(run)) == [(1, "SUCCEEDED"), (2, "SUCCEEDED")]
    # No step is FAILED any more, but the run has failed.
    assert states(run) == {"a": "COMPENSATED", "b": "COMPENSATED"}
    assert status_of(run) == "FAILED"


def undo_of_an_unknown_end(tenant: Tenant) -> tuple[UUID, Any]:
    """Return a run whose first step succeeded, and the call under way that undoes its second."""
    steps = [undoable("a"), undoable("b", "a", on=["TIMED_OUT"])]
    body = {"on_failure": "compensate", "deadline_seconds": 3600}
    run = begin_run(make_workflow(tenant, steps, **body))
    work(run, all_but(), rounds=1, rests=False)
    [row] = release()
    finish(row, "FAILED", outcome="TIMED_OUT", error_code="timeout_total")
    go_on(run)
    [undo] = release()
    return run, undo


def test_a_run_that_is_paused_while_it_is_undone_does_not_end_before_all_is_undone(tenant: Tenant):
    run, undo = undo_of_an_unknown_end(tenant)
    pause_run(tenant.id, run, actor=ACTOR)

    finish(undo)
    go_on(run)

    assert (states(run), status_of(run)) == ({"a": "SUCCEEDED", "b": "COMPENSATED"}, "RUNNING")
    assert release() == []

    resume_run(tenant.id, run, actor=ACTOR)
    go_on(run)
    work(run)

    assert states(run) == {"a": "COMPENSATED", "b": "COMPENSATED"}
    assert status_of(run) == "FAILED"


def test_a_deadline_takes_back_nothing_that_undoes(tenant: Tenant):
    run, undo = undo_of_an_unknown_end(tenant)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() - interval '1 second'")

    pass_time()
    finish(undo)
    go_on(run)
    work(run)

    assert undone(run) == [(2, "SUCCEEDED"), (1, "SUCCEEDED")]
    assert status_of(run) == "FAILED"


def test_a_retry_runs_again_what_was_undone(tenant: Tenant):
    steps = [undoable("a"), calls("b", "a")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate"))
    work(run, all_but("b"))

    retry_run(tenant.id, run, Retry(), actor=ACTOR)
    begin_take(run)
    done = work(run)

    assert done == ["a", "b"]
    assert status_of(run) == "SUCCEEDED"


def test_a_run_that_compensates_is_cancelled_as_a_whole_only(tenant: Tenant):
    steps = [undoable("a"), undoable("b", "a"), calls("c", "b")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate"))
    work(run, all_but("c"), rounds=3, rests=False)

    with pytest.raises(Exception, match="only all of it"):
        cancel_run(tenant.id, run, Scope("not_started"), actor=ACTOR)
    cancel_run(tenant.id, run, Scope("all"), actor=ACTOR)
    go_on(run)

    assert undone(run) == [(2, "CANCELLED")]
    assert status_of(run) == "FAILED"
