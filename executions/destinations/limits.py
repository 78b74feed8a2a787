"""Destinations for people: the state of each host of a tenant's webhooks, its limits, its circuit.

A destination is a host, with its port unless that is 80 or 443, of one tenant: no tenant sees or
changes another's. Every spelling of a host names the same one. Limits are rows; circuits and counts
live in Redis and can be lost, which closes the circuits. Executions that wait for a destination are
parked; they are counted up to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import redis
from django.db import transaction
from django.db.models.functions import Now

from events import audit
from executions.dispatch import circuits
from executions.dispatch.circuits import Circuit
from executions.loop.clocks import ClockOffset
from executions.models import Destination
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound, Unavailable, VersionMismatch
from shared.hosts import HostError
from shared.notify import wake_schedulers_in
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from tasks.choices import TaskStatus
from tasks.destination_names import name_of_url, read_name
from wire.destination_key import key_of, limits_text, tenant_and_host

#: Parked executions are counted up to here.
MOST_PARKED = 100_000
MAX_IN_FLIGHT = 100_000
MIN_RATE, MAX_RATE = 0.001, 100_000.0
#: The states of tasks that call a destination: tasks that have not ended.
CALLING = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)
LIMITS = ("max_in_flight", "rate_per_second", "breaker")

_UNKNOWN = "There is no such destination."

_offset = ClockOffset()
_Row = tuple[str, int, int | None, float | None, bool | None, int | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """The current state of a destination.

    ``circuit`` is closed, open or half_open. ``calls`` and ``failures`` count the calls of the last
    minute that the circuit judges. All three are None when Redis cannot be asked. ``in_flight``
    counts requests under way, ``parked`` executions that wait for capacity of the destination.
    ``version`` is 0 while it has no limits of its own.
    """

    host: str
    circuit: str | None
    open_until: datetime | None
    calls: int | None
    failures: int | None
    in_flight: int
    parked: int
    tasks: int
    max_in_flight: int | None
    rate_per_second: float | None
    breaker: bool
    version: int


def list_destinations(
    tenant_id: UUID, filters: Mapping[str, Any] | None = None, *, after: str = "", limit: int = 100
) -> list[Shown]:
    """Return up to ``limit`` of the tenant's destinations behind ``after``, in order of host.

    A host is listed while a task that has not ended calls it or it has limits. Filters: ``q``
    (part of the host, or the host in any spelling, or a URL that calls it), ``limited`` (bool). An
    absent filter, or None, matches all.
    """
    given = filters or {}
    parameters = {
        "after": after,
        "only": None,
        **_sought(given.get("q")),
        "limited": given.get("limited"),
        "calling": list(CALLING),
        "limit": limit,
    }
    return _shown(tenant_id, rows("destinations/listed", {"tenant": tenant_id, **parameters}))


def get_destination(tenant_id: UUID, host: str) -> Shown:
    """Return one destination; raise NotFound for a host without calling tasks and limits."""
    found = _only(tenant_id, [_named(host)])
    if not found:
        raise NotFound(_UNKNOWN)
    return found[0]


def not_closed(tenant_id: UUID, limit: int = 100) -> Sequence[Shown]:
    """Return the destinations whose circuit is open or half-open; none when Redis is away."""
    try:
        found = circuits.standing([], lately=True)
    except ConnectionFailed:
        return []
    known = {tenant_and_host(key): one for key, one in found.items()}
    hosts = [
        host for (tenant, host), one in known.items() if tenant == tenant_id and one.open_until
    ]
    return [one for one in _only(tenant_id, sorted(hosts)[:limit]) if one.circuit != "closed"]


@transaction.atomic
def change_limits(
    tenant_id: UUID,
    host: str,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> Shown:
    """Change ``max_in_flight``, ``rate_per_second`` (None: no limit) and ``breaker``.

    Absent fields stay. A host may be limited before the first task calls it. The change acts at
    once, also on work that workers have buffered; if Redis is away, only on work sent from then on.
    Turning the breaker off closes the circuit. Raise NotFound for a name that no URL can have as
    its host, InvalidInput, VersionMismatch.
    """
    _judge(changes)
    host = _named(host)
    # The race: two callers set the first limits. One insert wins; the lock makes the second wait.
    Destination.objects.bulk_create(
        [Destination(tenant_id=tenant_id, host=host, version=0)], ignore_conflicts=True
    )
    kept = Destination.objects.select_for_update().get(tenant_id=tenant_id, host=host)
    if expected_version is not None and expected_version != kept.version:
        message = f"The destination is at version {kept.version}, not {expected_version}"
        raise VersionMismatch(f"{message}; read it again.")
    before = {name: getattr(kept, name) for name in LIMITS}
    after = before | dict(changes)
    if after != before:
        for name, value in after.items():
            setattr(kept, name, value)
        kept.version += 1
        kept.updated_at = Now()
        kept.save(update_fields=[*LIMITS, "version", "updated_at"])
        audit.record(tenant_id, actor, "destination.changed", "destination", host, before, after)
        new_rate = after["rate_per_second"] != before["rate_per_second"]
        _announce_on_commit(key_of(tenant_id, host), after, new_rate=new_rate)
    elif not kept.version:
        kept.delete()
    return get_destination(tenant_id, host)


@transaction.atomic
def reset_circuit(tenant_id: UUID, host: str, *, actor: Actor) -> Shown:
    """Close the circuit and forget the last minute; work that waits for it continues at once.

    Raise NotFound, and Unavailable when Redis cannot be asked.
    """
    shown = get_destination(tenant_id, host)
    host = shown.host
    try:
        circuits.forget(key_of(tenant_id, host))
    except ConnectionFailed as error:
        message = "The circuit cannot be reset now; nothing has changed."
        raise Unavailable(message) from error
    facts = {"circuit": shown.circuit, "calls": shown.calls, "failures": shown.failures}
    audit.record(tenant_id, actor, "destination.reset", "destination", host, before=facts)
    _look_again()
    return get_destination(tenant_id, host)


def _announce_on_commit(key: str, limits: Mapping[str, Any], *, new_rate: bool) -> None:
    text = limits_text(*(limits[name] for name in LIMITS))

    def announce() -> None:
        circuits.announce_limits(key, text, new_rate=new_rate)
        if not limits["breaker"]:
            circuits.forget(key)

    # Work sent from now on carries the new limits anyway.
    transaction.on_commit(announce, robust=True)
    _look_again()


def _look_again() -> None:
    """Make the schedulers look at parked work."""
    wake_schedulers_in(0.0)


def _named(written: str) -> str:
    """Return the destination's name; raise NotFound for a text that no URL can have as its host."""
    try:
        return read_name(written)
    except HostError as error:
        raise NotFound(_UNKNOWN) from error


def _sought(text: str | None) -> dict[str, str | None]:
    """Return the search parameters: the text as a part of a name, and the name that it spells."""
    if text is None:
        return {"q": None, "named": None}
    try:
        named = name_of_url(text) if "://" in text else read_name(text)
    except HostError:
        named = ""
    return {"q": text.lower(), "named": named}


def _judge(changes: Mapping[str, Any]) -> None:
    errors = []
    most, rate = changes.get("max_in_flight"), changes.get("rate_per_second")
    if most is not None and not 1 <= most <= MAX_IN_FLIGHT:
        message = f"Give 1 to {MAX_IN_FLIGHT} requests, or null for no limit."
        errors.append(FieldError("#/max_in_flight", "out_of_range", message))
    if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
        message = f"Give {MIN_RATE} to {MAX_RATE:.0f} starts a second, or null for no limit."
        errors.append(FieldError("#/rate_per_second", "out_of_range", message))
    if errors:
        raise InvalidInput(errors)


def _only(tenant_id: UUID, hosts: Sequence[str]) -> list[Shown]:
    if not hosts or "\x00" in "".join(hosts):
        return []
    parameters = {
        "after": "",
        "only": list(hosts),
        **_sought(None),
        "limited": None,
        "calling": list(CALLING),
        "limit": len(hosts),
    }
    return _shown(tenant_id, rows("destinations/listed", {"tenant": tenant_id, **parameters}))


def _shown(tenant_id: UUID, found: Sequence[Any]) -> list[Shown]:
    if not found:
        return []
    hosts = [row[0] for row in found]
    parameters = {
        "tenant": tenant_id,
        "hosts": hosts,
        "most": MOST_PARKED,
    }
    work = {row[0]: (row[1], row[2]) for row in rows("destinations/work", parameters)}
    live = _live([key_of(tenant_id, host) for host in hosts])
    return [_one(row, work[row[0]], live.get(key_of(tenant_id, row[0]))) for row in found]


def _live(keys: Sequence[str]) -> dict[str, Circuit]:
    try:
        return circuits.standing(keys)
    except (redis.RedisError, OSError):
        return {}


def _one(row: _Row, work: tuple[int, int], circuit: Circuit | None) -> Shown:
    host, tasks, most, rate, breaker, version = row
    opened = circuit is not None and circuit.state == "open"
    return Shown(
        host=host,
        circuit=circuit.state if circuit else None,
        open_until=circuits.on_database_clock(circuit.open_until, _offset)
        if circuit and opened
        else None,
        calls=circuit.calls if circuit else None,
        failures=circuit.failures if circuit else None,
        in_flight=work[0],
        parked=work[1],
        tasks=tasks,
        max_in_flight=most,
        rate_per_second=rate,
        breaker=breaker is not False,
        version=version or 0,
    )
