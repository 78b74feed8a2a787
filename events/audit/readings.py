"""Records that payloads were read in clear: once an hour for an actor and a row.

A call has one entry, however many rows it has shown. Reading never fails for it: where neither
Redis nor the database can be asked, the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from uuid import UUID

from django.db import Error

from events.audit.writing import record
from shared import windowed_sets
from shared.actor import Actor
from shared.redis_client import ConnectionFailed

log = logging.getLogger("events.audit")

_HOUR_SECONDS = 3600
#: Rows that an entry names; it counts the others.
_NAMED = 100
#: Rows of an actor and a kind that are remembered; each reading of further ones has an entry.
_REMEMBERED = 10_000


def note_readings(tenant_id: UUID, actor: Actor, kind: str, rows: Iterable[object]) -> None:
    """Record that the actor has read what rows of a tenant carry, those not noted this hour.

    Outside of a transaction, which a failure would end. Without Redis every reading has an entry.
    """
    ids = list(dict.fromkeys(map(str, rows)))
    fresh = _fresh(tenant_id, actor, kind, ids)
    if not fresh:
        return
    try:
        if len(fresh) == 1:
            # By its text: under its id, an entry about a task reports that the task has changed.
            record(tenant_id, actor, "payload.read", kind, fresh[0])
            return
        after = {"kind": kind, "count": len(fresh), "ids": fresh[:_NAMED]}
        record(tenant_id, actor, "payload.read", "tenant", str(tenant_id), after=after)
    except Error as error:
        log.warning("reading.not_recorded", extra={"reason": type(error).__name__})
        _forget(tenant_id, actor, kind, fresh)


def _fresh(tenant_id: UUID, actor: Actor, kind: str, ids: list[str]) -> list[str]:
    if not ids:
        return []
    try:
        new = windowed_sets.add(_name(tenant_id, actor, kind), ids, _HOUR_SECONDS, _REMEMBERED)
    except ConnectionFailed as error:
        log.warning("readings.not_counted", extra={"reason": type(error).__name__})
        return ids
    return [one for one, is_new in zip(ids, new, strict=True) if is_new]


def _forget(tenant_id: UUID, actor: Actor, kind: str, ids: list[str]) -> None:
    try:
        windowed_sets.remove(_name(tenant_id, actor, kind), ids)
    except ConnectionFailed as error:
        log.warning("readings.not_counted", extra={"reason": type(error).__name__})


def _name(tenant_id: UUID, actor: Actor, kind: str) -> str:
    return f"audit:read:{tenant_id} {actor.name} {kind}"
