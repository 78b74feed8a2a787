"""Interrupts a run in a process of its own: asks it to end, waits for its grace, then kills it.

Used by handlers and commands. A run is interrupted when its time is up, when it is cancelled, or
when its worker stops. The first of these decides its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: How long the end of a killed process may take; a process in the kernel cannot be waited for.
_KILLED_SECONDS = 5.0


class Why(Enum):
    """Why a run was interrupted."""

    TIME_IS_UP = "time is up"
    CANCELLED = "cancelled"
    STOPPING = "worker stops"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a run has, and seconds from being asked to end to being killed."""

    seconds: float
    grace_seconds: float


class Stopping:
    """Announces to every run that the worker stops, and how long each may take to end."""

    def __init__(self) -> None:
        self.grace_seconds: float | None = None
        self._said = asyncio.Event()

    def say(self, grace_seconds: float) -> None:
        """Ask every run to end within the grace."""
        self.grace_seconds = grace_seconds
        self._said.set()

    @property
    def said(self) -> bool:
        """Whether the stop is announced; from then on no run begins."""
        return self._said.is_set()

    async def wait(self) -> None:
        """Wait until the stop is announced."""
        await self._said.wait()


async def run_to_end(
    running: asyncio.Task[Any],
    limits: Limits,
    stopping: Stopping,
    *,
    ask: Callable[[], None],
    kill: Callable[[], None],
) -> Why | None:
    """Wait for the run's end, interrupting it where needed; return why, None when it ended itself.

    ``ask`` asks it to end, ``kill`` ends it at once; ``running`` is done afterwards, unless the
    system holds the killed process.
    """
    why = await first_of(running, limits.seconds, stopping)
    if why is None:
        return None
    ask()
    grace = limits.grace_seconds
    if stopping.grace_seconds is not None:
        grace = min(grace, stopping.grace_seconds)
    await _patiently(running, grace)
    if not running.done():
        kill()
        await _patiently(running, _KILLED_SECONDS)
    return why


async def first_of(running: asyncio.Task[Any], seconds: float, stopping: Stopping) -> Why | None:
    """Wait for the end of ``running``; return what came before it, None when nothing did."""
    stop = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({running, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        _go_on()
        return Why.CANCELLED
    finally:
        stopped = stop.done()
        stop.cancel()
    if running.done():
        return None
    return Why.STOPPING if stopped else Why.TIME_IS_UP


async def _patiently(running: asyncio.Task[Any], seconds: float) -> None:
    """Wait for the run's end, at most ``seconds``; a further cancel does not end the wait."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not running.done() and (left := deadline - loop.time()) > 0:
        try:
            await asyncio.wait({running}, timeout=left)
        except asyncio.CancelledError:
            _go_on()


def _go_on() -> None:
    """Take the cancel as handled: this task still has to report the run's outcome."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
