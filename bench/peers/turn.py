"""One turn of a contender: started afresh, warmed up, given its plan, measured, stopped."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from bench.peers.contender import Contender, CouldNotRunError
from bench.peers.figures import TARGET, Turn, turn_of
from bench.peers.plan import Plan
from bench.peers.target import Target, await_calls
from bench.processes import usage

Started = TypeVar("Started", bound=Contender)
#: Between the end of scheduling and the first due time, at least.
SPARE_MS = 3000
#: What is allowed for the first look at the processor time.
_SAMPLE_MS = 500
#: What a start of the scheduling program may take, on top of its items.
_START_MS = 5000
#: How often a later due time is tried where scheduling took longer than was allowed for.
_TRIES = 3
_WARM_UP = 200
#: Duplicates and acknowledgements may still come for this long.
_SETTLE_SECONDS = 1.0
#: This long without any arrival is the end of a turn.
_STALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Load:
    """The load of every contender of a scenario: ``count`` calls, ``step_ms`` apart."""

    count: int
    step_ms: float = 0.0
    #: Whether the due times are judged.
    timed: bool = True

    def plan(self, url: str, at_ms: int) -> Plan:
        """Return the plan with its first call due then."""
        return Plan(url, self.count, at_ms, self.step_ms)


def take(make: Callable[[], Contender], target: Target, load: Load) -> Turn:
    """Return one turn's figures; CouldNotRunError when it cannot be started or is too slow.

    A contender that has not everything in time gets a later due time, and begins afresh.
    """
    took_ms = 0
    for _ in range(_TRIES):
        with started(make) as contender:
            _warm_up(contender, target)
            spare_ms = _spare_ms(contender)
            lead = spare_ms + lead_ms(load.count, contender.pace, took_ms)
            plan = load.plan(target.url, _first_due(contender, lead))
            began = now_ms()
            contender.schedule(plan)
            took_ms = now_ms() - began
            if not contender.timed or plan.at_ms - now_ms() >= spare_ms:
                turn = _measure(contender, target, plan, timed=load.timed and contender.timed)
                return replace(turn, scheduling_seconds=took_ms / 1000)
    raise CouldNotRunError(f"scheduling {load.count} webhooks took {took_ms / 1000:.0f} s")


def lead_ms(count: int, pace: float, took_ms: int = 0) -> int:
    """Return what scheduling may take, milliseconds.

    By the contender's pace, or twice what scheduling took when it took too long.
    """
    return round(_START_MS + max(count / pace * 1000, 2 * took_ms))


def _spare_ms(contender: Contender) -> int:
    """Return what has to be left before the first due time when everything is scheduled."""
    return max(SPARE_MS, round(contender.ahead_seconds * 1000) + _SAMPLE_MS)


def _first_due(contender: Contender, lead: int) -> int:
    return now_ms() + (lead if contender.timed else 0)


def now_ms() -> int:
    """Return Unix milliseconds."""
    return time.time_ns() // 1_000_000


@contextmanager
def started(make: Callable[[], Started]) -> Iterator[Started]:
    """Start a contender in a scratch directory, yield it, stop it and remove the directory."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-peers-"))
    # As root, the account that runs the servers has to pass through.
    scratch.chmod(0o711)
    contender = make()
    try:
        contender.start(scratch)
        yield contender
    finally:
        contender.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _warm_up(contender: Contender, target: Target) -> None:
    """Let it make a few calls, so that code is loaded and connections are open."""
    target.reset()
    lead = SPARE_MS + lead_ms(_WARM_UP, contender.pace)
    plan = Plan(target.url, _WARM_UP, _first_due(contender, lead))
    contender.schedule(plan)
    contender.release()
    _await(target, plan)
    wait(_SETTLE_SECONDS)
    arrived = target.count()
    if arrived < _WARM_UP:
        raise CouldNotRunError(f"of {_WARM_UP} webhooks to warm up {arrived} arrived")
    target.reset()


def _measure(contender: Contender, target: Target, plan: Plan, *, timed: bool) -> Turn:
    kinds = contender.kinds() | {target.pid: TARGET}
    wait(plan.at_ms / 1000 - time.time() - contender.ahead_seconds)
    before = usage(kinds)
    contender.release()
    _await(target, plan)
    recorded = contender.recorded(plan)
    wait(_SETTLE_SECONDS)
    after = usage(kinds)
    turn = turn_of(contender.name, plan, target.arrivals(), timed=timed, recorded=recorded)
    return replace(turn, cpu_seconds=after.cpu_since(before))


def _await(target: Target, plan: Plan) -> None:
    """Wait until every call has arrived, or none for long."""
    wait(plan.at_ms / 1000 - time.time())
    await_calls(target, plan.count, stall_seconds=_STALL_SECONDS)


def wait(seconds: float) -> None:
    """Wait for this long; not at all for a moment that has passed."""
    if seconds > 0:
        threading.Event().wait(seconds)
