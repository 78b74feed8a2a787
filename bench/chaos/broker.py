"""Faults of the broker: ended, frozen, slow, emptied, full, or filled with what is out of date."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import redis

from bench.chaos.experiment import Experiment
from bench.chaos.probed import AS_EVER, probed
from bench.chaos.servers import (
    VALKEY,
    directory_of,
    frozen,
    kept_away,
    strike,
    until_answering,
    until_gone,
)
from bench.chaos.site import Site, fault
from operations.proof.matcher import Fault
from operations.proof.workload import Window
from shared.redis_client import OUTCOME_STREAM

_FREEZE_SECONDS = 20.0
#: The load around a fault that is over in a moment.
_SHORT_SECONDS = 18.0
_AWAY_SECONDS = 60.0
_SAVED_BEFORE_SECONDS = 10.0
_REPEATED_SECONDS = 12.0
#: So much above what is used already; the next messages fill it.
_LITTLE_MEMORY = 64 * 1024
#: What was reported so shortly before its loss may not have been recorded.
_UNRECORDED_SECONDS = 3.0


async def _end(site: Site, number: signal.Signals) -> tuple[Fault, ...]:
    began = time.monotonic()
    await until_gone(await strike(site, VALKEY, number))
    await until_answering(site, VALKEY)
    return (fault(f"{number.name} valkey", seconds=time.monotonic() - began),)


async def _restart(site: Site, window: Window) -> tuple[Fault, ...]:
    return await _end(site, signal.SIGTERM)


async def _killed(site: Site, window: Window) -> tuple[Fault, ...]:
    return await _end(site, signal.SIGKILL)


async def _flapping(site: Site, window: Window) -> tuple[Fault, ...]:
    return tuple([one for _ in range(3) for one in await _end(site, signal.SIGKILL)])


async def _frozen(site: Site, window: Window) -> tuple[Fault, ...]:
    async with frozen(site, VALKEY):
        await asyncio.sleep(_FREEZE_SECONDS)
    return (fault("SIGSTOP valkey", seconds=_FREEZE_SECONDS),)


async def _away(site: Site, window: Window) -> tuple[Fault, ...]:
    began = time.monotonic()
    async with kept_away(site, VALKEY, signal.SIGTERM):
        await asyncio.sleep(_AWAY_SECONDS)
    return (fault("valkey away", seconds=time.monotonic() - began),)


async def _flushed(site: Site, window: Window) -> tuple[Fault, ...]:
    with site.valkey() as valkey:
        valkey.flushall()
    return (fault("FLUSHALL", doubt=_UNRECORDED_SECONDS),)


async def _flushed_again_and_again(site: Site, window: Window) -> tuple[Fault, ...]:
    found: list[Fault] = []
    for _ in range(3):
        found += await _flushed(site, window)
        await asyncio.sleep(5.0)
    return tuple(found)


async def _clients_killed(site: Site, window: Window) -> tuple[Fault, ...]:
    with site.valkey() as valkey:
        valkey.client_kill_filter(_type="normal", skipme=True)
        valkey.client_kill_filter(_type="pubsub", skipme=True)
    return (fault("CLIENT KILL"),)


async def _slow(site: Site, window: Window) -> tuple[Fault, ...]:
    deadline = time.monotonic() + _REPEATED_SECONDS
    with site.valkey() as valkey:
        while time.monotonic() < deadline:
            await asyncio.to_thread(valkey.client_pause, 300, all=True)
            await asyncio.sleep(0.5)
    return (fault("CLIENT PAUSE", seconds=_REPEATED_SECONDS),)


@asynccontextmanager
async def _little_memory(site: Site) -> AsyncIterator[None]:
    with site.valkey() as valkey:
        used = int(valkey.info("memory")["used_memory"])
        valkey.config_set("maxmemory", used + _LITTLE_MEMORY)
        try:
            yield
        finally:
            valkey.config_set("maxmemory", 0)


async def _full(site: Site, window: Window) -> tuple[Fault, ...]:
    async with _little_memory(site):
        await asyncio.sleep(_REPEATED_SECONDS)
    return (fault("maxmemory", seconds=_REPEATED_SECONDS),)


async def _empty(site: Site, window: Window) -> tuple[Fault, ...]:
    began = time.monotonic()
    async with kept_away(site, VALKEY, signal.SIGKILL) as directory:
        shutil.rmtree(directory / "appendonlydir")
    seconds = time.monotonic() - began
    return (fault("empty valkey", seconds=seconds, doubt=_UNRECORDED_SECONDS),)


async def _of_yesterday(site: Site, window: Window) -> tuple[Fault, ...]:
    """Put back the data of ten seconds ago, taken while the workers stood still."""
    directory = directory_of(site, VALKEY)
    former = directory / "former"
    async with _workers_stand_still(site):
        await asyncio.sleep(1.5)
        shutil.copytree(directory / "appendonlydir", former)
    await asyncio.sleep(_SAVED_BEFORE_SECONDS)
    began = time.monotonic()
    async with kept_away(site, VALKEY, signal.SIGKILL):
        _take_place(former, directory / "appendonlydir")
    return (fault("former data", seconds=time.monotonic() - began),)


def _take_place(former: Any, current: Any) -> None:
    owner = current.stat()
    shutil.rmtree(current)
    former.rename(current)
    for path in (current, *current.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)


async def _repeated(site: Site, window: Window) -> tuple[Fault, ...]:
    """Save messages and outcomes before anybody takes them; push them again twice, later."""
    with site.valkey() as valkey:
        async with _workers_stand_still(site):
            await asyncio.sleep(1.5)
            messages = _messages(valkey)
        async with _stand_still(site, "recorder"):
            await asyncio.sleep(1.5)
            outcomes = [fields for _, fields in valkey.xrange(OUTCOME_STREAM)]
        for wait in (0.0, _SAVED_BEFORE_SECONDS):
            await asyncio.sleep(wait)
            _push(valkey, messages, outcomes)
    return (fault("messages repeated", seconds=_SAVED_BEFORE_SECONDS + 4),)


async def _lost_messages(site: Site, window: Window) -> tuple[Fault, ...]:
    """Remove every tenth message that waits, and at least one, five times."""
    with site.valkey() as valkey:
        for _ in range(5):
            async with _workers_stand_still(site):
                await asyncio.sleep(0.7)
                for queue, waiting in _messages(valkey).items():
                    for message in waiting[::10]:
                        valkey.lrem(queue, 1, message)
            await asyncio.sleep(1.5)
    return ()


def _messages(valkey: redis.Redis) -> dict[Any, list[Any]]:
    return {queue: valkey.lrange(queue, 0, -1) for queue in valkey.scan_iter("*", _type="list")}


def _push(
    valkey: redis.Redis, messages: dict[Any, list[Any]], outcomes: list[dict[Any, Any]]
) -> None:
    for queue, waiting in messages.items():
        if waiting:
            valkey.lpush(queue, *waiting)
    for fields in outcomes:
        valkey.xadd(OUTCOME_STREAM, fields)


@asynccontextmanager
async def _stand_still(site: Site, kind: str) -> AsyncIterator[None]:
    stopped = await site.pids(kind)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _workers_stand_still(site: Site) -> contextlib.AbstractAsyncContextManager[None]:
    return _stand_still(site, "worker")


_CREATES = "creations are answered 201 throughout"

EXPERIMENTS: tuple[Experiment, ...] = (
    probed(
        _restart,
        allowed=AS_EVER,
        id="broker-restarted",
        seconds=_SHORT_SECONDS,
        fault="Valkey is restarted",
        how="SIGTERM; the supervisor starts it again",
        invariant=f"every consumer goes on; {_CREATES}",
    ),
    probed(
        _killed,
        allowed=AS_EVER,
        id="broker-killed",
        workflows=True,
        seconds=_SHORT_SECONDS,
        fault="Valkey crashes",
        how="SIGKILL",
        invariant=f"every consumer goes on; {_CREATES}",
    ),
    probed(
        _flapping,
        allowed=AS_EVER,
        answer_seconds=5.0,
        id="broker-flapping",
        fault="Valkey crashes again and again",
        how="SIGKILL three times, each as soon as it is back",
        invariant=f"every consumer goes on; {_CREATES}",
    ),
    probed(
        _frozen,
        allowed=AS_EVER,
        answer_seconds=5.0,
        id="broker-frozen",
        fault="Valkey hangs",
        how="SIGSTOP for 20 s",
        invariant=_CREATES,
        seconds=35.0,
        latest_start_seconds=25.0,
    ),
    probed(
        _away,
        allowed=AS_EVER,
        id="broker-away",
        fault="Valkey is away for a minute",
        how="SIGTERM, and its starts fail for 60 s",
        invariant=f"work goes on ten seconds after its return; {_CREATES}",
        rate=10.0,
        seconds=85.0,
        latest_start_seconds=80.0,
    ),
    probed(
        _flushed,
        allowed=AS_EVER,
        id="broker-flushed",
        seconds=_SHORT_SECONDS,
        fault="Valkey loses everything",
        how="FLUSHALL",
        invariant="what had been published is published again",
        quick=True,
    ),
    probed(
        _flushed_again_and_again,
        allowed=AS_EVER,
        id="broker-flushed-repeatedly",
        fault="Valkey loses everything again and again",
        how="FLUSHALL three times, every 5 s",
        invariant="what had been published is published again",
    ),
    probed(
        _clients_killed,
        allowed=AS_EVER,
        id="broker-connections-killed",
        seconds=_SHORT_SECONDS,
        fault="every connection to Valkey breaks",
        how="CLIENT KILL of every normal and every subscribed client",
        invariant="every process connects anew by itself",
    ),
    probed(
        _slow,
        allowed=AS_EVER,
        id="broker-slow",
        fault="Valkey is slow",
        how="CLIENT PAUSE of 300 ms, twice a second for 12 s",
        invariant="starts are late by little",
    ),
    probed(
        _full,
        allowed=AS_EVER,
        id="broker-full",
        fault="Valkey's memory is full and it refuses to write",
        how="CONFIG SET maxmemory with noeviction for 12 s",
        invariant=_CREATES,
        latest_start_seconds=20.0,
    ),
    probed(
        _empty,
        allowed=AS_EVER,
        id="broker-empty",
        fault="Valkey comes back without its data",
        how="SIGKILL, its append-only file removed, started again",
        invariant="what had been published is published again",
    ),
    probed(
        _of_yesterday,
        allowed=AS_EVER,
        id="broker-out-of-date",
        fault="Valkey comes back with former data",
        how="SIGKILL, its append-only file replaced by a copy ten seconds old",
        invariant="old messages start nothing",
        seconds=30.0,
        latest_start_seconds=20.0,
    ),
    probed(
        _repeated,
        allowed=AS_EVER,
        id="broker-messages-repeated",
        fault="old messages and outcomes come again",
        how="waiting messages and outcomes are saved and pushed again, at once and after 10 s",
        invariant="each runs once and is recorded once",
        seconds=30.0,
    ),
    probed(
        _lost_messages,
        allowed=AS_EVER,
        id="broker-messages-lost",
        fault="single messages get lost",
        how="every tenth waiting message is removed, five times",
        invariant="the scan finds what never started and publishes it again",
        latest_start_seconds=20.0,
    ),
)
