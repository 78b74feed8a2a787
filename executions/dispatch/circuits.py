"""Read and forget the state of destinations in Redis: circuits, the last minute's calls, slots.

The scripts that workers call write it. State that is lost with Redis counts as closed and unused.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from executions.loop.clocks import ClockOffset, from_epoch
from shared.redis_client import client, lua
from wire.destination_key import tenant_and_host

log = logging.getLogger("executions.engine.circuits")

#: Kinds of keys per destination, the circuit first; without the places in flight, which their
#: owners give back.
_KEPT = ("circuit", "calls", "full", "rate")
#: Longer than workers buffer work that was sent with the former limits.
_CHANGED_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Circuit:
    """One destination as Redis knows it; moments in seconds on Redis' clock, 0 for none.

    ``now`` is when it was read. ``recent`` calls ended in the last ten to twenty seconds.
    """

    now: float
    open_until: float = 0.0
    probe_until: float = 0.0
    waited: bool = False
    next_slot: float = 0.0
    recent: int = 0
    calls: int = 0
    failures: int = 0

    @property
    def state(self) -> str:
        """``closed``, ``open``, or ``half_open``: a probe may go or is under way."""
        if not self.open_until:
            return "closed"
        return "open" if self.now < self.open_until else "half_open"

    @property
    def until(self) -> float:
        """The time until which no new call goes to it; 0 when one may go."""
        return self.open_until if self.state == "open" else self.probe_until

    @property
    def per_second(self) -> float:
        """How many calls end in a second, roughly."""
        return self.recent / 10


def standing(keys: Sequence[str], *, lately: bool = False) -> dict[str, Circuit]:
    """Return the state of the destinations of these keys; ``lately`` adds the conspicuous ones.

    Conspicuous destinations had work that was refused, or waited for slots, in the last seconds,
    or have a circuit that is not closed. Raise ``ConnectionFailed`` when Redis cannot be asked.
    """
    if not keys and not lately:
        return {}
    answer = cast(list[Any], client().eval(lua("standing"), 0, "1" if lately else "", *keys))
    now = answer[0] / 1000
    return {
        row[0].decode(): Circuit(
            now=now,
            open_until=row[1] / 1000,
            probe_until=row[2] / 1000,
            waited=bool(row[3]),
            next_slot=row[4] / 1000,
            recent=row[5],
            calls=row[6],
            failures=row[7],
        )
        for row in answer[1:]
    }


def forget(key: str) -> None:
    """Close the circuit and forget the last minute and the slots of the rate."""
    with client().pipeline(transaction=True) as pipeline:
        for kind in _KEPT:
            pipeline.delete(f"punctual:{kind}:{key}")
        was_open, *_ = pipeline.execute()
    if was_open:
        tenant, host = tenant_and_host(key)
        log.info("circuit.closed", extra={"tenant_id": str(tenant), "destination": host})


def announce_limits(key: str, limits: str, *, new_rate: bool = True) -> None:
    """Apply changed limits from now on, also to work that workers buffer with the former ones.

    The slots of an unchanged rate (not ``new_rate``) stay taken.
    """
    with client().pipeline(transaction=True) as pipeline:
        if new_rate:
            pipeline.delete(f"punctual:rate:{key}")
        pipeline.set(f"punctual:limits:{key}", limits, ex=_CHANGED_SECONDS)
        pipeline.set("punctual:limits_changed", "1", ex=_CHANGED_SECONDS)
        pipeline.execute()


def on_database_clock(moment: float, offset: ClockOffset) -> datetime | None:
    """Return a moment of a circuit by the database's clock, None for none."""
    return from_epoch(moment - offset.at_least()) if moment else None
