"""Keep the runs and steps in flight of a tenant within its quotas; the others wait, on hold.

A run that is in flight has begun and not ended. A run that a step asked for, and the retry of a
run, never wait: what waits above them would wait for ever. A run that waits gives back the place of
its concurrency key, which a run in flight may need. A step is in flight from its begin to its end,
its retries included; it waits for nothing that needs a place. So what is in flight always ends, and
frees places.

Tenants without such a quota cost nothing but one look of this process every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from executions.changes.paused_places import reasons_to_hold
from shared.notify import wake_schedulers_in
from shared.sql import rows, run
from tasks import standing_pauses
from tasks.quotas import in_flight
from tenants.quotas import known
from tenants.quotas.limits import RUNS_IN_FLIGHT, STEPS_IN_FLIGHT, TENANT_LIMIT
from tenants.suspension import is_suspended

#: How many runs of one tenant one look puts by, or frees.
_AT_ONCE = 1000
_LONGEST_SECONDS = 0.5


class Within(NamedTuple):
    """What due runs may begin: the ``allowed`` ones, and those of ``unlimited`` tenants.

    ``unlimited`` is None where every tenant is. A run that comes due after its tenant was judged
    waits for the next look.
    """

    allowed: list[UUID]
    unlimited: list[UUID] | None


def due_within_limits(partitions: Sequence[int], limit: int) -> Within:
    """Judge due runs by the limits of their tenants; those beyond wait.

    Part of the transaction that begins runs. Takes half a second at most: the next look continues.
    """
    if not known.some_have(RUNS_IN_FLIGHT):
        return Within([], None)
    allowed: list[UUID] = []
    limited: list[UUID] = []
    unlimited: set[UUID] = set()
    until = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < until:
        scope = {"partitions": list(partitions), "without": limited, "limit": limit}
        due = {row[0] for row in rows("workflow_limits/due_tenants", scope)}
        found = {one for one in due if known.limits_of(one).runs_in_flight is not None}
        unlimited |= due - found
        if not found:
            break
        for tenant_id in sorted(found):
            allowed.extend(_may_begin(tenant_id, partitions, limit))
        limited.extend(found)
    return Within(allowed, sorted(unlimited))


def free_runs(tenant_id: UUID) -> int:
    """Let runs that wait for the limit of a tenant begin, as many as have a place.

    Part of a transaction that shares the tenant's pauses.
    """
    if not _owns(RUNS_IN_FLIGHT, tenant_id):
        return 0
    most = known.limits_of(tenant_id).runs_in_flight
    room = _AT_ONCE if most is None else most - in_flight(tenant_id, RUNS_IN_FLIGHT)
    if room <= 0:
        return 0
    return run("workflow_limits/free_runs", {"tenant": tenant_id, "limit": min(room, _AT_ONCE)})


def reasons_to_wait(tenant_ids: Iterable[UUID], held_for: Sequence[str]) -> list[str]:
    """Return why each step that begins is on hold, given its tenant and another reason, or ''.

    The first ones of a tenant take what its limit leaves. Waits for other sessions that begin steps
    of a tenant with a limit.
    """
    if not known.some_have(STEPS_IN_FLIGHT):
        return list(held_for)
    tenants = list(tenant_ids)
    rooms = {one: room for one in sorted(set(tenants)) if (room := _room_of_steps(one)) is not None}
    found = []
    for tenant_id, reason in zip(tenants, held_for, strict=True):
        if reason or tenant_id not in rooms:
            found.append(reason)
        elif rooms[tenant_id] > 0:
            rooms[tenant_id] -= 1
            found.append("")
        else:
            found.append(TENANT_LIMIT)
    return found


def follow_ends(tenant_ids: Collection[UUID]) -> None:
    """Let steps that wait begin in the places of those that have ended, the oldest first.

    Before anything that begins steps writes: it waits for other sessions that begin steps of a
    tenant with a limit, and these may wait for what it would write.
    """
    if not known.some_have(STEPS_IN_FLIGHT):
        return
    for tenant_id in sorted(tenant_ids):
        if known.limits_of(tenant_id).steps_in_flight is not None:
            # Before any row: a pause that begins in this moment would not see what becomes free.
            standing_pauses.share(tenant_id)
            if room := _room_of_steps(tenant_id):
                _free_steps(tenant_id, room)


def free_steps(tenant_id: UUID) -> int:
    """Let steps that wait for the limit of a tenant begin, as many as have a place.

    Part of a transaction that shares the tenant's pauses.
    """
    if not _owns(STEPS_IN_FLIGHT, tenant_id):
        return 0
    most = known.limits_of(tenant_id).steps_in_flight
    room = _AT_ONCE if most is None else most - in_flight(tenant_id, STEPS_IN_FLIGHT)
    return _free_steps(tenant_id, room) if room > 0 else 0


def mend_places() -> int:
    """Mend what a process of the version before makes of runs with a key; return how many.

    It leaves such a run its place while the run waits for its tenant, and frees one that waits
    outside of the line of its key without a way into it.
    """
    mended = run("workflow_limits/give_back", {"limit": _AT_ONCE})
    with transaction.atomic():
        # The race: a pause. It waits for the locks, or is seen by the second statement.
        ids = [row[0] for row in rows("workflow_limits/lock_aside", {"limit": _AT_ONCE})]
        return mended + (run("workflow_limits/put_in_line", {"ids": ids}) if ids else 0)


def waiting_tenants() -> list[UUID]:
    """Return the tenants with work that waits for a limit, and that are not suspended."""
    found = [row[0] for row in rows("workflow_limits/waiting_tenants")]
    return [tenant_id for tenant_id in found if not is_suspended(tenant_id)]


def _may_begin(tenant_id: UUID, partitions: Sequence[int], limit: int) -> list[UUID]:
    if not _owns(RUNS_IN_FLIGHT, tenant_id):
        return []
    most = known.limits_of(tenant_id).runs_in_flight or 0
    room = min(limit, max(0, most - in_flight(tenant_id, RUNS_IN_FLIGHT)))
    scope = {"tenant": tenant_id, "partitions": list(partitions)}
    allowed = [row[0] for row in rows("workflow_limits/first_due", {**scope, "limit": room})]
    if len(allowed) == room:
        put = {**scope, "allowed": allowed, "limit": _AT_ONCE}
        [(have_left,)] = rows("workflow_limits/put_by", put)
        if have_left:
            # Others wait for these places of keys.
            wake_schedulers_in(0.0)
    return allowed


def _room_of_steps(tenant_id: UUID) -> int | None:
    """Return how many steps may begin, None for a tenant without a limit; own its steps."""
    most = known.limits_of(tenant_id).steps_in_flight
    if most is None:
        return None
    rows("workflow_limits/own", {"kind": STEPS_IN_FLIGHT, "tenant": tenant_id})
    return max(0, most - in_flight(tenant_id, STEPS_IN_FLIGHT))


def _free_steps(tenant_id: UUID, room: int) -> int:
    wanted = {"tenant": tenant_id, "limit": min(room, _AT_ONCE)}
    found = rows("workflow_limits/lock_waiting_steps", wanted)
    if found:
        reason = reasons_to_hold([tenant_id])
        reasons = [reason(tenant_id, pool, destination) for _, pool, destination in found]
        ids = [row[0] for row in found]
        run("workflow_limits/free_steps", {"ids": ids, "reasons": reasons})
        wake_schedulers_in(0.0)
    return len(found)


def _owns(kind: str, tenant_id: UUID) -> bool:
    owned: bool = rows("workflow_limits/try_to_own", {"kind": kind, "tenant": tenant_id})[0][0]
    return owned
