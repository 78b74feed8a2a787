"""Reports to Redis how calls ended: gathered per destination, sent a few times a second.

Lives on the worker's event loop. The counts move circuits, and the reports free places of limited
destinations. While Redis is away they are kept and sent later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis
import redis.asyncio

from shared.redis_client import lua
from wire import start_guard
from wire.destination_key import tenant_and_host
from worker.entries import Flying, Held

log = logging.getLogger("executions.workers.reports")

_GATHER_SECONDS = 0.25
#: Delay of a report that others wait for: a place, or a circuit that changes.
_SOON_SECONDS = 0.02
_RETRY_SECONDS = 0.5
#: Errors of the destination itself, independent of the caller and the request.
_FAULTS = frozenset(
    {
        "timeout_connect",
        "timeout_total",
        "dns_failed",
        "connection_refused",
        "connection_reset",
        "tls_failed",
        "response_invalid",
    }
)


@dataclass(slots=True)
class _Told:
    """The unsent report about one destination."""

    breaker: bool = True
    calls: int = 0
    failures: int = 0
    probe: str = ""
    verdict: str = ""
    waited: bool = False
    left: list[int] = field(default_factory=list)

    def add(self, later: _Told) -> None:
        self.breaker = later.breaker
        self.calls += later.calls
        self.failures += later.failures
        if later.probe:
            self.probe, self.verdict = later.probe, later.verdict
        self.waited = self.waited or later.waited
        self.left += later.left


class Reports:
    """One worker's notes about destinations; :meth:`run` sends them until cancelled."""

    def __init__(self, connection: redis.asyncio.Redis) -> None:
        self._connection = connection
        self._told: dict[str, _Told] = {}
        self._wake, self._hurry = asyncio.Event(), asyncio.Event()
        #: Whether places of limited destinations are to be given back.
        self.leaving = False

    def ended(self, flight: Flying, outcome: Mapping[str, Any]) -> None:
        """Note the outcome of a request; not of work without a destination and tenant's limits."""
        held = flight.held
        if held.tenant_limits and flight.verdict != start_guard.GO:
            self._told_of(held.tenant).left.append(held.token)
            self.leaving = True
            self._hurry.set()
        if not held.destination:
            return
        healthy = speaks_well(outcome)
        told = self._of(held)
        if healthy is not None:
            told.calls += 1
            told.failures += not healthy
        if flight.probe:
            told.probe = str(held.token)
            told.verdict = "" if healthy is None else "01"[healthy]
        if flight.verdict != start_guard.GO:
            told.left.append(held.token)
            self.leaving = True
        if told.left or healthy is False:
            self._hurry.set()

    def waited(self, held: Held) -> None:
        """Note that work of a destination has waited too long for a slot of this worker."""
        if held.destination:
            self._of(held).waited = True

    async def run(self) -> None:
        """Send the reports, until cancelled."""
        while True:
            await self._wake.wait()
            await self._gather()
            self._wake.clear()
            try:
                await self.flush()
            except (redis.RedisError, OSError) as error:
                log.warning("reports.held_back", extra={"reason": type(error).__name__})
                await asyncio.sleep(_RETRY_SECONDS)

    async def flush(self, connection: redis.asyncio.Redis | None = None) -> None:
        """Send all reports now; keep them and raise the error when they cannot be sent."""
        if not self._told:
            return
        sending, self._told, self.leaving = self._told, {}, False
        try:
            arguments = _arguments(sending)
            moved = await (connection or self._connection).eval(lua("report"), 0, *arguments)
        except BaseException:
            for lane, later in self._told.items():
                sending.setdefault(lane, _Told()).add(later)
            self._told = sending
            self.leaving = any(told.left for told in sending.values())
            self._wake.set()
            raise
        _log_circuits([name.decode() for name in moved])

    async def _gather(self) -> None:
        try:
            async with asyncio.timeout(_GATHER_SECONDS):
                await self._hurry.wait()
            await asyncio.sleep(_SOON_SECONDS)
        except TimeoutError:
            pass  # no report came that others wait for
        self._hurry.clear()

    def _of(self, held: Held) -> _Told:
        told = self._told_of(held.destination)
        told.breaker = not held.limits.startswith("0")
        return told

    def _told_of(self, name: str) -> _Told:
        told = self._told.get(name)
        if told is None:
            told = self._told[name] = _Told()
        self._wake.set()
        return told


def _log_circuits(moved: Sequence[str]) -> None:
    """Log the circuits that opened and, after '', those that closed: this report moved them."""
    between = moved.index("")
    for name in moved[:between]:
        tenant, host = tenant_and_host(name)
        log.warning("circuit.opened", extra={"tenant_id": str(tenant), "destination": host})
    for name in moved[between + 1 :]:
        tenant, host = tenant_and_host(name)
        log.info("circuit.closed", extra={"tenant_id": str(tenant), "destination": host})


def speaks_well(outcome: Mapping[str, Any]) -> bool | None:
    """Return whether an outcome shows that its destination works; None where it shows neither.

    An answer below 500 does, also where the attempt fails: a bad request is the caller's fault.
    """
    status = outcome.get("status")
    if outcome["verb"] in ("succeeded", "accepted"):
        return True
    if outcome["verb"] == "cancelled":
        return None
    if outcome.get("error_code") in _FAULTS:
        return False
    return None if status is None else status < 500


def _arguments(sending: Mapping[str, _Told]) -> list[str | int]:
    arguments: list[str | int] = []
    for lane, told in sending.items():
        arguments += (lane, int(told.breaker), told.calls, told.failures, told.probe, told.verdict)
        arguments += ("1" if told.waited else "", len(told.left), *told.left)
    return arguments
