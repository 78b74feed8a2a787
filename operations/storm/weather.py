"""The strikes of one storm while its load runs, and the product's refusals meanwhile.

A strike is SIGKILL of a process that the runtime file names. Each is a fault with a time of doubt:
a request that was under way, or answered and perhaps not recorded yet, may run once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import redis

from operations.proof.campaign import until
from operations.proof.matcher import Fault
from operations.proof.workload import Window
from operations.storm.ground import Ground
from operations.storm.order import FLUSH, Order, moments
from operations.storm.takeover import MOST_SECONDS, Strike

#: How long around a strike an answered request may not have been recorded yet: the worker's
#: buffer and the batch on its way, with a wide margin.
DOUBT_SECONDS = 0.5
#: How long everything may take to live again after the last strike.
_RECOVERY_SECONDS = 120.0
_SAMPLE_SECONDS = 1.0
_HOLD_UP_RECORDING = {"recorder", "redis", "postgres", FLUSH}
_LOSE_UNRECORDED = {"worker", "redis", FLUSH}
#: These lose what Redis holds, which is asked just before.
_LOSE_REDIS = {"redis", FLUSH}

ReadRefused = Callable[[], Mapping[str, int]]


@dataclass
class Weather:
    """Strikes as the order says while a window passes; called once."""

    ground: Ground
    order: Order
    say: Callable[[str], None]
    read_refused: ReadRefused
    strikes: list[Strike] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    recovered: bool = False
    _last_refused: dict[str, int] = field(default_factory=dict)

    async def __call__(self, window: Window) -> tuple[Fault, ...]:
        """Strike, wait for the end of the window and for recovery; return the faults."""
        await until(window.begin_ms)
        watch = asyncio.create_task(self._watch())
        try:
            rng = random.Random(self.order.seed)  # noqa: S311 - repeatable, not secret
            for moment in moments(self.order):
                await until(window.begin_ms + round(moment.after_seconds * 1000))
                await asyncio.to_thread(self._strike_one, moment.kinds, rng)
            await until(window.end_ms)
            self.recovered = await self.ground.until_recovered(_RECOVERY_SECONDS)
        finally:
            watch.cancel()
        await self.sample()
        return faults(self.strikes)

    async def sample(self) -> None:
        """Count the refusals since the last sample; an emptied Redis counts from zero."""
        try:
            found = await asyncio.to_thread(self.read_refused)
        except redis.RedisError:
            return  # away for the moment; the next sample asks again
        for kind, count in found.items():
            last = self._last_refused.get(kind, 0)
            self.refused[kind] += count - last if count >= last else count
        self._last_refused = dict(found)

    async def _watch(self) -> None:
        # Refusals from before the storm do not count.
        with contextlib.suppress(redis.RedisError):
            self._last_refused = dict(await asyncio.to_thread(self.read_refused))
        while True:
            await asyncio.sleep(_SAMPLE_SECONDS)
            await self.sample()

    def _strike_one(self, kinds: tuple[str, ...], rng: random.Random) -> None:
        for kind in kinds:
            strike = self._flush() if kind == FLUSH else self._kill(kind, rng)
            if strike is not None:
                self.strikes.append(strike)
                self.say(f"{_clock(strike.at_ns)}  {told(strike)}")
                return

    def _kill(self, kind: str, rng: random.Random) -> Strike | None:
        living = self.ground.living(kind)
        found = self.ground.targets(kind)
        if not found:
            return None
        process = rng.choice(sorted(found, key=lambda one: one.name))
        waiting = self._unrecorded_since(kind)
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return None  # ended by itself a moment ago
        alone = all(one.pid == process.pid for one in living)
        return Strike(kind, process.name, process.pid, time.time_ns(), alone, waiting)

    def _flush(self) -> Strike | None:
        waiting = self._unrecorded_since(FLUSH)
        try:
            self.ground.forget_all()
        except redis.RedisError:
            return None  # away already
        return Strike(FLUSH, "FLUSHALL", None, time.time_ns(), unrecorded_since_ns=waiting)

    def _unrecorded_since(self, kind: str) -> int | None:
        if kind not in _LOSE_REDIS:
            return None
        try:
            return self.ground.unrecorded_since_ns()
        except redis.RedisError:
            return None  # away already: it holds what it held


def faults(strikes: Sequence[Strike]) -> tuple[Fault, ...]:
    """Return the faults, each with its time of doubt.

    A strike that loses unrecorded outcomes loses all since the oldest that Redis held, and all
    since the strike before, if that has held up the recording.
    """
    doubt_ns, reach_ns = round(DOUBT_SECONDS * 1e9), round(MOST_SECONDS * 1e9)
    found = []
    former: Strike | None = None
    for strike in strikes:
        before_ns = doubt_ns
        if former and former.kind in _HOLD_UP_RECORDING and strike.kind in _LOSE_UNRECORDED:
            since_ns = strike.at_ns - former.at_ns
            before_ns += since_ns if since_ns <= reach_ns else 0
        if strike.unrecorded_since_ns is not None:
            before_ns = max(before_ns, doubt_ns + strike.at_ns - strike.unrecorded_since_ns)
        found.append(Fault(told(strike), strike.at_ns, before_ns, doubt_ns))
        former = strike
    return tuple(found)


def told(strike: Strike) -> str:
    """Return the strike in words."""
    if strike.pid is None:
        return "everything in Redis forgotten (FLUSHALL)"
    return f"{strike.name} killed (pid {strike.pid})"


def _clock(at_ns: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_ns / 1e9))
