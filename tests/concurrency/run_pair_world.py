"""What every pair of operations on runs meets: one workflow, and a run of it in each state."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from executions.complete.outcome_stream import ensure_group
from executions.models import WorkflowRun
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from executions.triggering.triggers import run_task
from operations.tenant_removal import remove_tenant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes.changes import delete, pause
from tests.executions.changes.standing import stand
from tests.factories import ACTOR, WORKER
from tests.support.beats import beat, silence
from tests.support.workflow_steps import Held, claim, end, start_step
from tests.support.workflows import EVERYWHERE, begin_run, calls, go_on, make_workflow
from workflows import stages
from workflows.begin import begin_due
from workflows.control import Scope, approve_step, cancel_run, pause_run
from workflows.retrying import Retry, retry_run
from workflows.signals import send_signal
from workflows.stages import advance_told, fire

STEPS: list[dict[str, Any]] = [
    calls("runs", retry_policy={"max_attempts": 1}),
    calls("load", for_each=[1, 2, 3], max_parallel=2),
    {"key": "ask", "kind": "approval", "timeout_seconds": 600},
    {"key": "paid", "kind": "wait_for_event", "event": "paid", "timeout_seconds": 600},
    calls("join", "runs", "load", "ask", "paid", condition="all_done"),
]


@dataclass(slots=True)
class World:
    """A workflow with a run under way, and what else the operations want of one."""

    tenant: Tenant
    operations: frozenset[str]
    rescuer: Rescuer
    task: Task
    run: UUID
    #: Executions of the run that workers have.
    held: dict[str, Held]
    #: Another run that is about to end, one that has failed, and one that is due to begin.
    ending: UUID | None = None
    failed: UUID | None = None
    waiting: UUID | None = None

    @property
    def runs(self) -> list[UUID]:
        return [one for one in (self.run, self.ending, self.failed, self.waiting) if one]


def build(tenant: Tenant, operations: frozenset[str], partitions: Partitions) -> World:
    """Make the workflow, and bring its runs to their states."""
    # Trusted for so long only: a slow machine takes longer to get here.
    partitions.run_once()
    with pytest.MonkeyPatch.context() as patch:
        # The ends of steps stay in the inbox.
        patch.setattr(stages, "advance", lambda *_: {})
        return _build(tenant, operations, Rescuer(partitions))


def _build(tenant: Tenant, operations: frozenset[str], rescuer: Rescuer) -> World:
    task = make_workflow(tenant, STEPS, on_failure="continue")
    run = begin_run(task)
    held = claim(run)
    start_step(held["runs"])
    end(held["load[0]"])
    world = World(tenant, operations, rescuer, task, run, held)
    if operations & {"end of run", "retry"}:
        _make_small_runs(world)
    if "begin" in operations:
        world.waiting = run_task(tenant.id, task.id, None, actor=ACTOR).id
    if "rescue" in operations:
        ensure_group()
        beat(WORKER)
        rescuer.run_once()
        silence(WORKER, 60)
    if "timeout" in operations:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE kind = 'approval'")
    if "removal" in operations:
        for one in Task.objects.filter(tenant_id=tenant.id):
            delete(one)
    return world


def _make_small_runs(world: World) -> None:
    small = make_workflow(world.tenant, [calls("a")], name="Small")
    if "retry" in world.operations:
        world.failed = begin_run(small)
        end(claim(world.failed)["a"], "FAILED")
        go_on(world.failed)
    if "end of run" in world.operations:
        world.ending = begin_run(small)
        end(claim(world.ending)["a"])


def _time_out(world: World) -> None:
    advance_told(fire(EVERYWHERE))


def _decide(world: World) -> None:
    approve_step(world.tenant.id, world.run, "ask", approved=True, take=1, note="", actor=ACTOR)


def _record(world: World) -> None:
    with transaction.atomic():
        end(world.held["runs"])


def _end_run(world: World) -> None:
    assert world.ending is not None
    advance_told([world.ending])


def _retry(world: World) -> None:
    assert world.failed is not None
    retry_run(world.tenant.id, world.failed, Retry(), actor=ACTOR)


def _stand(world: World) -> None:
    try:
        stand(world.tenant, "destination", "api.example.com")
    except IntegrityError:
        # Its tenant has been removed meanwhile.
        if "removal" not in world.operations:
            raise


@transaction.atomic
def _remove(world: World) -> None:
    # A model that was deleted has no id any more.
    remove_tenant(copy(world.tenant), actor=ACTOR)


OPERATIONS: dict[str, Callable[[World], Any]] = {
    "advance": lambda world: advance_told([world.run]),
    "begin": lambda world: advance_told(begin_due(EVERYWHERE, 10)),
    "end of step": _record,
    "end of run": _end_run,
    "cancel": lambda world: cancel_run(world.tenant.id, world.run, Scope(), actor=ACTOR),
    "pause": lambda world: pause_run(world.tenant.id, world.run, actor=ACTOR),
    "retry": _retry,
    "pause of the task": lambda world: pause(world.task),
    "pause of a destination": _stand,
    "approve": _decide,
    "timeout": _time_out,
    "signal": lambda world: send_signal(world.tenant.id, "paid", "", None, actor=ACTOR),
    "rescue": lambda world: world.rescuer.run_once(),
    "removal": _remove,
}


def check(world: World) -> None:
    """Assert that every run of the tenant, once advanced, has ended or something open.

    What was told to one that had just ended is deleted later.
    """
    go_on(*world.runs)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM workflow_inbox i JOIN workflow_runs r ON r.id = i.run_id"
            " WHERE r.id = ANY(%s)",
            [world.runs],
        )
        assert cursor.fetchall() == []
        for row in WorkflowRun.objects.filter(pk__in=world.runs):
            cursor.execute(
                "SELECT EXISTS (SELECT FROM open_executions WHERE run_id = %(run)s)"
                " OR EXISTS (SELECT FROM workflow_waits WHERE run_id = %(run)s AND step > 0)",
                {"run": row.id},
            )
            assert cursor.fetchone()[0] or row.phase == "paused"
