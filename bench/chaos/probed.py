"""Experiments that ask the API all the time: what it answers meanwhile is part of the promise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bench.chaos.experiment import Check, Experiment, nothing_more
from bench.chaos.prober import Prober, Probes
from bench.chaos.site import Site, into
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

#: Injects and heals the fault; called five seconds into the window.
Strike = Callable[[Site, Window], Awaitable[tuple[Fault, ...]]]
#: What may be answered while the database is away.
WHILE_AWAY = frozenset({200, 201, 409, 503})
#: What may be answered where the fault does not concern the API.
AS_EVER = frozenset({200, 201})
_BEGIN, _TAIL = 4.0, 2.0


@dataclass(slots=True)
class Watch:
    """What one run saw; an experiment's injection fills it and its check reads it."""

    strike: Strike
    allowed: frozenset[int]
    answer_seconds: float
    more: Check = nothing_more
    prober: Prober | None = None

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Probe from before the fault until shortly before the window's end."""
        self.prober = Prober(site)
        await into(window, _BEGIN)
        async with self.prober.probing():
            await into(window, _BEGIN + 1)
            faults = await self.strike(site, window)
            await into(window, window.length_ms / 1000 - _TAIL)
        return faults

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Return what the answers broke."""
        if self.prober is None:
            return ["nothing was asked"]
        seen = self.prober.seen
        outcome.notes.append(told(seen))
        found = seen.problems(self.allowed, self.answer_seconds) + self.prober.lost()
        return found + self.more(site, outcome)


def told(seen: Probes) -> str:
    """Return the answers in a line for the notes."""
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(seen.statuses.items()))
    return f"API answered {statuses}; longest {seen.longest.seconds:.2f} s"


def probed(
    strike: Strike,
    *,
    allowed: frozenset[int] = WHILE_AWAY,
    answer_seconds: float = 2.0,
    check: Check = nothing_more,
    **facts: Any,
) -> Experiment:
    """Return an experiment whose API is asked all the time; ``facts`` are the Experiment's."""
    watch = Watch(strike, allowed, answer_seconds, check)
    return Experiment(inject=watch.inject, check=watch.check, **facts)
