"""The installation that every pair of operations meets: two tasks and their unfinished work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from executions import transitions
from executions.bulk.backfill import Wanted
from executions.complete.outcome_stream import ensure_group
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.models import BulkJob, Execution
from executions.ownership.partitions import Partitions
from executions.rescue import lost_workers
from executions.rescue.stage import Rescuer
from shared.conf import conf
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.bulk.backfills import make_backfill
from tests.executions.bulk.bulk import make_job
from tests.executions.old_days import put
from tests.factories import WORKER, make_task, once, pass_guard, release, start
from tests.support.beats import beat
from tests.support.beats import silence as silent
from tests.support.cursors import change_task
from wire.messages import Claimed

LABELS = {"team": "billing"}
#: Seconds between two instants of the recurring task.
STEP = 5
EVERY_STEP = f"*/{STEP} * * * * *"
RETENTION_DAYS, OLD_DAY = 10, 20
_CALLBACK = {"url": "https://api.example.com/long", "completion": "callback"}
#: Operations that want work which a worker, or a receiver, has.
_OF_WORKERS = frozenset({"finish", "rescue", "expiry"})


@dataclass(slots=True)
class World:
    """A recurring and a one-time task, each with an execution that both operations want."""

    tenant: Tenant
    operations: frozenset[str]
    partitions: Partitions = field(default_factory=Partitions)
    rescuer: Rescuer = field(init=False)
    series: Task = field(init=False)
    single: Task = field(init=False)
    first_at: datetime = field(init=False)
    #: The first execution of each task, and all that were claimed, by their ids.
    first: dict[UUID, UUID] = field(default_factory=dict)
    claimed: dict[UUID, Claimed] = field(default_factory=dict)
    bulk: BulkJob | None = None
    backfill: BulkJob | None = None

    @property
    def bounds(self) -> dict[str, Any]:
        return {"partitions": list(self.partitions.held)}

    @property
    def every_second_step(self) -> str:
        """Return the schedule that has the first instant and every second one from there on."""
        return f"{self.first_at.second % (2 * STEP)}-59/{2 * STEP} * * * * *"

    def first_id(self, task: Task) -> UUID:
        return self.first[task.id]


def build(tenant: Tenant, operations: frozenset[str], patch: Any) -> World:
    """Make the tasks, bring their work to the state that the operations want, and the jobs."""
    # Valkey has just been emptied: rescue would wait until it had answered for a while.
    patch.setattr(lost_workers.Silence, "_answering", lambda *_: True)
    world = World(tenant, operations)
    world.partitions.run_once()
    assert world.partitions.held
    world.rescuer = Rescuer(world.partitions)
    _make_tasks(world)
    if "retention" in operations:
        put(tenant, OLD_DAY)
    if "backfill" in operations:
        end = world.first_at - timedelta(hours=1)
        world.backfill = make_backfill(world.series, Wanted(end - timedelta(seconds=20), end))
    if "bulk" in operations:
        label = {"label": "team:billing"}
        world.bulk = make_job(tenant, "cancel", "tasks", label)
    materialize.run_once(world.partitions)
    for execution in Execution.objects.filter(trigger="schedule").order_by("-id"):
        world.first[execution.task_id] = execution.id
    if operations & _OF_WORKERS:
        _hand_to_workers(world)
    elif "claim" not in operations:
        _claim(world)
    if "prepare" in operations:
        _set_cursors_back(world)
    return world


def _make_tasks(world: World) -> None:
    target: dict[str, Any] = {"target": _CALLBACK} if "expiry" in world.operations else {}
    schedule = {"cron_expression": EVERY_STEP}
    recurring = once(name="Series", labels=LABELS, **target) | {"schedule": schedule}
    world.series = make_task(world.tenant, recurring)
    world.single = make_task(world.tenant, once(name="Single", labels=LABELS, **target))
    now = database_now().replace(microsecond=0)
    world.first_at = now - timedelta(seconds=now.second % STEP)
    change_task(world.series.id, next_run_at=world.first_at)


def _claim(world: World) -> None:
    world.claimed = {row.id: row for row in release(window_seconds=0.0)}
    assert {world.first[world.series.id], world.first[world.single.id]} <= set(world.claimed)


def _hand_to_workers(world: World) -> None:
    _claim(world)
    ensure_group()
    beat(WORKER)
    series, single = (world.claimed[world.first[task.id]] for task in (world.series, world.single))
    if "expiry" in world.operations:
        assert pass_guard([series, single]) == [1, 1]
        now = database_now()
        transitions.accept([(row.id, row.token, WORKER, now, now) for row in (series, single)])
    else:
        # The other one is still QUEUED: rescue has a statement for each.
        start([series])
    if world.operations & {"rescue", "expiry"}:
        over = timedelta(seconds=conf().lease_margin_seconds + 3600)
        taken = Execution.objects.filter(id__in=[series.id, single.id])
        taken.update(lease_expires_at=F("lease_expires_at") - over)
        silent(WORKER, 60)


def _set_cursors_back(world: World) -> None:
    """Let the scheduler meet again what it has prepared, as after an edit."""
    for task in (world.series, world.single):
        first = Execution.objects.get(id=world.first[task.id])
        change_task(
            task.id, status="SCHEDULED", next_run_at=first.scheduled_for, occurrence_count=0
        )


def claim_all(_: World) -> list[Claimed]:
    """Claim what is due within the ledger's horizon."""
    return release(window_seconds=2.0 * conf().horizon_seconds)


def keep_ten_days(settings: Any) -> None:
    settings.PUNCTUAL = replace(conf(), retention_days=RETENTION_DAYS)
