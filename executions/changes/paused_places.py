"""Hold the steps of workflows whose pool or destination is paused.

A step belongs to its run: no pause of a task reaches it. But a pause of a pool or a destination
says that nothing calls it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from executions.choices import Status
from shared.notify import wake_schedulers_in
from shared.sql import Asked, rows, run
from shared.sql_arrays import of_uuids
from tasks import standing_pauses
from tasks.choices import TENANT_SUSPENDED
from tasks.models import Pause
from tasks.quotas import limits_steps

#: The reason of a step that waits for its pool or destination.
PLACE_PAUSED = "place_paused"


#: Withdraws locked, released executions by their ids and tokens.
Withdraw = Callable[[list[tuple[UUID, int]]], object]
#: Returns why a step is on hold, by tenant, pool and destination; '' where it is not.
Reason = Callable[[UUID, str, str], str]


def hold_steps(pause: Pause, withdraw: Withdraw) -> None:
    """Put open steps that the pause covers on hold; the caller owns the tenant's pauses."""

    def covered(pool: str, destination: str) -> bool:
        return standing_pauses.covers_place(pause.scope, pause.value, pool, destination)

    found = _lock(pause.tenant_id, covered)
    released = [(row[0], row[2]) for row in found if row[1] == Status.QUEUED and row[2]]
    withdraw(released)
    if found:
        run("pausing/hold_steps", {"ids": [row[0] for row in found]})


def free_steps(tenant_id: UUID) -> None:
    """Free the steps that no open pause covers any longer."""
    covered = held_places(tenant_id)
    found = _lock(tenant_id, lambda pool, destination: not covered(pool, destination))
    if found:
        scope = {"ids": [row[0] for row in found], "limited": limits_steps(tenant_id)}
        run("pausing/free_steps", scope)
        wake_schedulers_in(0.0)


def held_places(tenant_id: UUID) -> Callable[[str, str], bool]:
    """Return whether an open pause covers a pool or a destination; the caller shares the pauses."""
    open_ = list(Pause.objects.for_tenant(tenant_id).open().values_list("scope", "value"))

    def covered(pool: str, destination: str) -> bool:
        return any(
            standing_pauses.covers_place(scope, value, pool, destination) for scope, value in open_
        )

    return covered


def reasons_to_hold(tenant_ids: Iterable[UUID]) -> Reason:
    """Return why a step is on hold, by tenant, pool and destination; '' where it is not.

    The caller shares the pauses of the tenants.
    """
    return reasons_of(rows(*asking(tenant_ids)))


def asking(tenant_ids: Iterable[UUID]) -> Asked:
    """Return the statement whose rows :func:`reasons_of` reads, after the shares of the pauses."""
    return "pausing/holding", {"tenants": of_uuids(tenant_ids)}


def reasons_of(holding: Iterable[tuple[Any, ...]]) -> Reason:
    """Return what :func:`reasons_to_hold` does, from tenant, scope and value of what holds."""
    suspended: set[UUID] = set()
    pauses: dict[UUID, list[tuple[str, str]]] = defaultdict(list)
    for tenant_id, scope, value in holding:
        if scope is None:
            suspended.add(tenant_id)
        else:
            pauses[tenant_id].append((scope, value))

    def reason(tenant_id: UUID, pool: str, destination: str) -> str:
        if tenant_id in suspended:
            return TENANT_SUSPENDED
        held = any(
            standing_pauses.covers_place(scope, value, pool, destination)
            for scope, value in pauses.get(tenant_id, ())
        )
        return PLACE_PAUSED if held else ""

    return reason


def _lock(
    tenant_id: UUID, wanted: Callable[[str, str], bool]
) -> list[tuple[UUID, str, int | None]]:
    return [
        (row[0], row[1], row[2])
        for row in rows("pausing/lock_steps", {"tenant": tenant_id})
        if wanted(row[3], row[4])
    ]
