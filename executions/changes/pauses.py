"""Standing pauses for people: create one, end it, count the tasks that it would hold.

A pause holds the tasks that it covers at its answer, and tasks that come under it later, until a
person ends it or its ``until`` comes. Each function runs in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Count

from events import audit
from executions.changes import bulk_pause, paused_places
from executions.loop.clocks import database_now
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.ids import new_id
from shared.sql import run
from tasks import standing_pauses
from tasks.choices import OnResume, TaskStatus
from tasks.models import Pause, Task
from tasks.querysets import PauseQuerySet, TaskQuerySet

_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pause to create: its scope, its end (None: no planned end), its note and ``on_resume``."""

    scope: str
    value: str = ""
    until: datetime | None = None
    note: str = ""
    on_resume: str = OnResume.SKIP.value


@dataclass(frozen=True, slots=True)
class Reach:
    """The tasks that a pause would hold now: their number, the first ones; its value as read."""

    value: str
    task_count: int
    sample: Sequence[Task]


def list_pauses(tenant_id: UUID, *, is_open: bool | None = None) -> PauseQuerySet:
    """Return the tenant's pauses for lists: all, only the open ones, or only the ended ones."""
    found = Pause.objects.asked_for(tenant_id)
    return found if is_open is None else found.filter(ended_at__isnull=is_open)


def get_pause(tenant_id: UUID, pause_id: UUID) -> Pause:
    """Return one pause of the tenant; raise NotFound."""
    pause: Pause = Pause.objects.asked_for(tenant_id).get_for_tenant(tenant_id, pause_id)
    return pause


def task_counts(pauses: Sequence[Pause]) -> dict[UUID, int]:
    """Return how many tasks each pause holds now, in one query."""
    held = Task.objects.filter(pause_id__in=[pause.id for pause in pauses])
    counted = dict(held.order_by().values_list("pause_id").annotate(count=Count("id")))
    return {pause.id: counted.get(pause.id, 0) for pause in pauses}


def reach_of(tenant_id: UUID, wanted: Wanted) -> Reach:
    """Return the reach of a pause; raise InvalidInput and Conflict as :func:`create_pause`."""
    value = _judge(wanted)
    _refuse_second(tenant_id, wanted.scope, value)
    found = _matching(tenant_id, wanted.scope, value)
    return Reach(value, found.count(), list(found.order_by("id")[:_SAMPLE]))


@transaction.atomic
def create_pause(tenant_id: UUID, wanted: Wanted, *, actor: Actor) -> tuple[Pause, int]:
    """Create a pause; return it and how many tasks it holds.

    From the answer on none of their executions starts; running ones continue. Tasks that are paused
    by themselves, or by another pause, stay as they are. Raise InvalidInput, Conflict
    ``already_paused`` for an open pause of the same scope and value, and Unavailable, changing
    nothing, when Redis cannot be asked about released work.
    """
    value = _judge(wanted)
    standing_pauses.own(tenant_id)
    _refuse_second(tenant_id, wanted.scope, value)
    run("bulk/take_time")
    now = database_now()
    pause = Pause(
        id=new_id(),
        tenant_id=tenant_id,
        scope=wanted.scope,
        value=value,
        note=wanted.note,
        on_resume=wanted.on_resume,
        until=wanted.until,
        created_by=actor.name[:200],
        created_at=now,
    )
    pause.save(force_insert=True)
    matching = _matching(tenant_id, wanted.scope, value)
    # Executions before tasks, as everywhere.
    paused_places.hold_steps(pause, lambda steps: bulk_pause.withdraw_released(steps, now))
    count = bulk_pause.hold(pause, list(matching.values_list("id", flat=True)), now)
    facts = {
        "scope": pause.scope,
        "value": pause.value,
        "until": pause.until,
        "note": pause.note,
        "on_resume": pause.on_resume,
        "tasks": count,
    }
    audit.record(tenant_id, actor, "pause.created", "pause", pause.id, after=facts)
    return pause, count


@transaction.atomic
def end_pause(tenant_id: UUID, pause_id: UUID, *, actor: Actor) -> tuple[Pause, int]:
    """End a pause now; return it and how many tasks it held.

    The tasks go under another open pause that covers them, or else resume by ``on_resume``. Raise
    NotFound, or Conflict ``already_ended``.
    """
    standing_pauses.share(tenant_id)
    pause: Pause = Pause.objects.asked_for(tenant_id).get_for_tenant(tenant_id, pause_id)
    run("bulk/take_time")
    now = database_now()
    if not bulk_pause.end(pause, actor=actor, now=now):
        raise Conflict("The pause has ended already.", code="already_ended")
    count = bulk_pause.let_go(pause, now)
    bulk_pause.record_end(pause, count, actor)
    pause.refresh_from_db()
    return pause, count


def _matching(tenant_id: UUID, scope: str, value: str) -> TaskQuerySet:
    active = (TaskStatus.SCHEDULED, TaskStatus.RUNNING)
    tasks = Task.objects.for_tenant(tenant_id).filter(status__in=active)
    return standing_pauses.covered(tasks, scope, value)


def _judge(wanted: Wanted) -> str:
    """Return the value as it is compared; raise InvalidInput."""
    value = standing_pauses.read_value(wanted.scope, wanted.value)
    if wanted.until is not None and wanted.until <= database_now():
        message = "A pause cannot end in the past."
        raise InvalidInput([FieldError("#/until", "in_the_past", message)])
    return value


def _refuse_second(tenant_id: UUID, scope: str, value: str) -> None:
    same = Pause.objects.for_tenant(tenant_id).open().filter(scope=scope, value=value).first()
    if same is not None:
        what = standing_pauses.describe(scope, value)
        message = f"The standing pause {same.id} of {what} is open already."
        raise Conflict(message, code="already_paused")
