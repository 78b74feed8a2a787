"""The passes over a tenant's values that follow its new data key, by worker or command.

A pass notes after each batch how far it has come. An interrupted one, also by ``kill -9``, goes on
there: the system worker's message is replaced by housekeeping. One session at a time does a pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import redis
from django.db import DatabaseError, transaction
from django.db.models import F

from events import audit
from executions.broker import RESEAL, publish_system_job
from executions.loop.clocks import database_now
from executions.resealing.columns import COLUMNS, Column
from executions.resealing.open_targets import (
    OPEN_TARGETS,
    Closed,
    OpenTargets,
    close_targets,
    count_open,
)
from executions.resealing.sealing_anew import Place, Resealed, count_left, seal_anew
from shared.actor import SYSTEM, Actor
from shared.data_keys import forget_all, seals_targets
from shared.sql import rows
from tenants.models import DataKey, Resealing
from tenants.services import data_keys

log = logging.getLogger("executions.services.resealing")

#: How long the system worker goes on before it lets other jobs have a turn.
_SECONDS_AT_ONCE = 20.0
#: A resealing that no worker took for this long has lost its message.
_LOST_AFTER = timedelta(seconds=60)

#: Called after each batch with the resealing's row.
Progress = Callable[[Resealing], None]


@transaction.atomic
def rotate(tenant_id: UUID, *, actor: Actor) -> Resealing:
    """Give a tenant a new data key and let the system worker seal its values anew under it.

    Raise NotFound, or Conflict ``resealing`` or ``too_many_keys``.
    """
    made = data_keys.rotate_data_key(tenant_id, actor=actor)
    wake_on_commit(made.id)
    return made


def run_some(
    resealing_id: UUID, *, seconds: float = _SECONDS_AT_ONCE, progress: Progress | None = None
) -> bool:
    """Do a part of a resealing; return whether more is left to do now.

    False also when another session has it, and when it has ended.
    """
    wanted = {"id": resealing_id}
    if not rows("resealing/take_turn", wanted)[0][0]:
        return False
    try:
        # This process may have sealed for the tenant seconds ago, and still know the former key.
        forget_all()
        found = Resealing.objects.filter(pk=resealing_id, ended_at=None).first()
        return found is not None and _go_on(found, time.monotonic() + seconds, progress)
    finally:
        # An error here does no harm: the turn ends with the session.
        with suppress(DatabaseError):
            rows("resealing/give_turn_back", wanted)


def wake_waiting() -> int:
    """Hand every resealing that no worker has to one; return how many."""
    now = database_now()
    waiting = Resealing.objects.filter(ended_at=None, woken_at__lte=now - _LOST_AFTER)
    ids = list(waiting.values_list("id", flat=True))
    Resealing.objects.filter(pk__in=ids).update(woken_at=now)
    for resealing_id in ids:
        hand_on(resealing_id)
    return len(ids)


def hand_on(resealing_id: UUID) -> None:
    """Ask the system worker to continue a resealing; only log when the broker is away."""
    try:
        publish_system_job(RESEAL, str(resealing_id))
    except redis.RedisError as error:
        log.warning(
            "resealing.not_handed_on",
            extra={"resealing_id": str(resealing_id), "reason": str(error)},
        )


def wake_on_commit(resealing_id: UUID) -> None:
    """Hand a resealing to a worker after this transaction commits."""
    transaction.on_commit(lambda: hand_on(resealing_id), robust=True)


def own_columns() -> list[Column]:
    """Return the columns whose values have the data keys of tenants."""
    return [column for column in COLUMNS if column.owner is not None]


def passes_of_tenant() -> list[Column | OpenTargets]:
    """Return what a resealing goes through: those columns, then what lies in clear."""
    return [*own_columns(), *OPEN_TARGETS]


def _pass_over(
    column: Column | OpenTargets, tenant_id: UUID, begin: Place | None
) -> Iterator[Resealed] | Iterator[Closed]:
    if isinstance(column, OpenTargets):
        return close_targets(column, tenant_id, begin)
    return seal_anew(column, tenant_id, begin)


def _go_on(row: Resealing, until: float, progress: Progress | None) -> bool:
    columns = passes_of_tenant()
    while row.columns_done < len(columns):
        column = columns[row.columns_done]
        done = unreadable = 0
        for result in _pass_over(column, row.tenant_id, _begin(row, column)):
            more, lost = result.done - done, result.unreadable - unreadable
            done, unreadable = result.done, result.unreadable
            if not _note(row, column, result.place or Place(), (more, lost)):
                return False
            if progress is not None:
                progress(row)
            if time.monotonic() > until:
                return True
        # The race: this session has lost its turn with its connection, and another one went on.
        same = Resealing.objects.filter(pk=row.pk, columns_done=row.columns_done, ended_at=None)
        if not same.update(columns_done=F("columns_done") + 1, place={}):
            return False
        row.refresh_from_db()
    _end(row)
    return False


def _begin(row: Resealing, column: Column | OpenTargets) -> Place | None:
    """Return where the pass over the column was interrupted; None to begin it."""
    place = row.place
    if place.get("column") != column.title:
        return None
    after = place["after"]
    return Place(place["stretch"], None if after is None else tuple(after))


def _note(
    row: Resealing, column: Column | OpenTargets, place: Place, more: tuple[int, int]
) -> bool:
    """Note how far a pass has come; return False where it has ended, or its tenant is removed."""
    after = None if place.after is None else [_plain(value) for value in place.after]
    same = Resealing.objects.filter(pk=row.pk, columns_done=row.columns_done, ended_at=None)
    changed = same.update(
        place={"column": column.title, "stretch": place.stretch, "after": after},
        sealed=F("sealed") + more[0],
        unreadable=F("unreadable") + more[1],
        woken_at=database_now(),
    )
    if not changed:
        return False
    row.refresh_from_db()
    return True


def _plain(value: object) -> int | str:
    return value if isinstance(value, int) else str(value)


@transaction.atomic
def _end(row: Resealing) -> None:
    left = sum(count_left(column, row.tenant_id) for column in own_columns())
    if seals_targets(row.tenant_id):
        left += sum(count_open(row.tenant_id))
    ended = Resealing.objects.filter(pk=row.pk, ended_at=None)
    if not ended.update(ended_at=database_now(), left=left, place={}):
        return
    row.refresh_from_db()
    key = DataKey.objects.filter(tenant_id=row.tenant_id, generation=row.generation).first()
    facts = {"generation": row.generation, "sealed": row.sealed, "left": left}
    audit.record(
        row.tenant_id,
        SYSTEM,
        "data_key.resealed",
        "data_key",
        row.id if key is None else key.id,
        after={**facts, "unreadable": row.unreadable},
    )
