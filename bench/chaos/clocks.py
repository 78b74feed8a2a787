"""Faults of clocks: one process of each kind has a clock that is wrong, drifts or jumps.

Receiver, judge, PostgreSQL and Valkey keep the true clock.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Callable

from bench.chaos.hosts_stand import spread_with_clocks
from bench.chaos.site import Site, into
from bench.chaos.watched import Act, Watch, watched
from bench.installation import CHECKOUT
from operations.proof.matcher import Fault

_BEGIN = 4.0
_WRONG_SECONDS = 20.0
_FIVE_MINUTES = 300.0
_DRIFT = 0.1
_JUMP_EVERY, _JUMPS = 2.0, 10
_WRONG = ("scheduler-1", "worker-1", "web-1", "recorder-1")
#: A process measures its clock every five seconds.
_ALARM_SECONDS = 15.0

_EVERYTHING_RIGHT = "early 0; nothing doubled; status names each process whose clock is off"


def _wrong(offset_seconds: float = 0.0, gain: float = 0.0) -> Act:
    async def act(watch: Watch) -> tuple[Fault, ...]:
        await into(watch.window, _BEGIN)
        for name in _WRONG:
            watch.site.clock(name, offset_seconds, gain)
        await watch.until("status names all four", _alarmed(watch.site), _ALARM_SECONDS)
        await into(watch.window, _BEGIN + _WRONG_SECONDS)
        for name in _WRONG:
            watch.site.clock(name)
        return ()

    return act


async def _jumping(watch: Watch) -> tuple[Fault, ...]:
    chance = random.Random(26)
    await into(watch.window, _BEGIN)
    for _ in range(_JUMPS):
        for name in _WRONG:
            watch.site.clock(name, chance.uniform(-_FIVE_MINUTES, _FIVE_MINUTES))
        await asyncio.sleep(_JUMP_EVERY)
    for name in _WRONG:
        watch.site.clock(name)
    return ()


def _alarmed(site: Site) -> Callable[[], bool]:
    def named() -> bool:
        said = _problems(site)
        return all(any(f"the clock of {name}@" in line for line in said) for name in _WRONG)

    return named


def _problems(site: Site) -> list[str]:
    """Return what ``manage.py status`` says is wrong; it says so and ends with 1."""
    done = subprocess.run(
        [sys.executable, "manage.py", "status", "--json"],
        cwd=CHECKOUT,
        env=site.product.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found: list[str] = json.loads(done.stdout or "{}").get("problems", [])
    return found


_HOW = "a preloaded library adds to the time of day; the monotonic clock goes on"
_ONE_OF_EACH = "one scheduler, worker, web server and recorder"

EXPERIMENTS = (
    watched(
        _wrong(_FIVE_MINUTES),
        id="clocks-ahead",
        fault=f"the clocks of {_ONE_OF_EACH} are five minutes ahead",
        how=_HOW,
        invariant=_EVERYTHING_RIGHT,
        stand=spread_with_clocks,
        seconds=28.0,
    ),
    watched(
        _wrong(-_FIVE_MINUTES),
        id="clocks-behind",
        fault=f"the clocks of {_ONE_OF_EACH} are five minutes behind",
        how=_HOW,
        invariant=_EVERYTHING_RIGHT,
        stand=spread_with_clocks,
        seconds=28.0,
    ),
    watched(
        _wrong(gain=_DRIFT),
        id="clocks-drift",
        fault=f"the clocks of {_ONE_OF_EACH} gain six seconds a minute",
        how=_HOW,
        invariant=_EVERYTHING_RIGHT,
        stand=spread_with_clocks,
        seconds=28.0,
    ),
    watched(
        _jumping,
        id="clocks-jump",
        fault=f"the clocks of {_ONE_OF_EACH} jump by up to five minutes, every 2 s",
        how=_HOW,
        invariant="early 0; nothing doubled",
        stand=spread_with_clocks,
        seconds=28.0,
    ),
)
