"""The ordinary executions beside runs: one-time tasks, created ahead, at a steady rate."""

from __future__ import annotations

import asyncio
import time

from bench.installation import Installation, InstallationError
from bench.peers.figures import OWN, Turn, turn_of
from bench.peers.plan import Plan
from bench.peers.punctual import create
from bench.peers.target import Target, await_calls
from shared.conf import Conf

#: Tasks that a bulk call makes a second, on the cautious side.
_CREATED_PER_SECOND = 1500.0
_SPARE_SECONDS = 5.0
_STALL_SECONDS = 60.0


def plan_of(target: Target, rate: float, seconds: float) -> Plan:
    """Return a plan of this many calls a second, due late enough to create its tasks before."""
    count = max(1, round(rate * seconds))
    lead = count / _CREATED_PER_SECOND + Conf().horizon_seconds + _SPARE_SECONDS
    return Plan(target.url, count, round((time.time() + lead) * 1000), step_ms=1000 / rate)


async def schedule(product: Installation, plan: Plan) -> None:
    """Create the tasks; InstallationError where that takes longer than was allowed for."""
    await create(product, plan)
    if time.time() > plan.at_ms / 1000 - Conf().horizon_seconds:
        raise InstallationError("creating the tasks took longer than was allowed for")


async def measured(target: Target, plan: Plan) -> Turn:
    """Wait until every call has come, or none does for long; return the figures."""
    await asyncio.to_thread(await_calls, target, plan.count, stall_seconds=_STALL_SECONDS)
    return turn_of(OWN, plan, target.arrivals(), timed=True)
