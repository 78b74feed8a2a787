"""Faults of the network: links that drop everything without a word, one way or both, or are bad."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from bench.chaos import hosts
from bench.chaos.hosts import INSIDE, POSTGRESQL, PROCESSES, RECEIVERS, VALKEY, Host
from bench.chaos.probed import WHILE_AWAY, told
from bench.chaos.prober import Prober
from bench.chaos.site import Site, fault, into
from bench.chaos.tcp_proxy import FAIR, Weather
from bench.chaos.watched import Act, Watch, watched
from operations.proof.matcher import Fault

_BEGIN = 5.0
_CUT_SECONDS = 20.0
#: Longer than any lease, and than any loss may go unnoticed.
_LONG_SECONDS = 35.0
_FIRST = ("scheduler-1", "worker-1", "recorder-1")
_SECOND = ("scheduler-2", "worker-2", "recorder-2")
_EVERYBODY = (*_FIRST, *_SECOND)
#: How long a request that was in flight may take until its worker is told of the cut.
_DOUBT = 2.0


async def _silent(watch: Watch, name: str, *others: Host, seconds: float = _CUT_SECONDS) -> Fault:
    """Cut a process from others, without a word, for so long; heal everything."""
    for other in others:
        hosts.cut(PROCESSES[name], other)
    doubt = fault(f"{name} cut off", doubt=_DOUBT)
    await asyncio.sleep(seconds)
    hosts.heal()
    return doubt


async def _worker_from_valkey(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    doubt = await _silent(watch, "worker-1", VALKEY)
    await watch.until_working("worker-1", "worker-2")
    return (doubt,)


async def _worker_from_everything(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    noticed = asyncio.create_task(watch.until_noticed("worker-1", VALKEY))
    doubt = await _silent(watch, "worker-1", VALKEY, RECEIVERS, seconds=_LONG_SECONDS)
    await noticed
    await watch.until_working("worker-1", "worker-2")
    return (doubt,)


async def _worker_from_receiver(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    doubt = await _silent(watch, "worker-1", RECEIVERS)
    await watch.until_working("worker-1")
    return (replace(doubt, after_ns=round(_CUT_SECONDS * 1e9)),)


async def _scheduler_from_postgresql(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    before = _epochs(watch.site)
    noticed = asyncio.create_task(watch.until_noticed("scheduler-1", POSTGRESQL))
    cut = asyncio.create_task(_silent(watch, "scheduler-1", POSTGRESQL, seconds=_LONG_SECONDS))
    await watch.until("the other scheduler has all", lambda: _held_by(watch.site, "scheduler-2"))
    doubt = await cut
    await noticed
    await watch.until_working("scheduler-1", "scheduler-2")
    _complain_of_epochs(watch, before)
    return (doubt,)


def _first_of(kind: str, server: Host) -> Act:
    """Return the act that cuts the first process of a kind from a server, which has to notice."""
    first, second = f"{kind}-1", f"{kind}-2"

    async def act(watch: Watch) -> tuple[Fault, ...]:
        await into(watch.window, _BEGIN)
        noticed = asyncio.create_task(watch.until_noticed(first, server))
        doubt = await _silent(watch, first, server)
        await noticed
        await watch.until_working(first, second)
        return (doubt,)

    return act


async def _web_from_postgresql(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, 2.0)
    first = watch.site.product.base_url
    second = first.replace(PROCESSES["web-1"].address, PROCESSES["web-2"].address)
    prober = Prober(Site(replace(watch.site.product, base_url=second)))
    async with prober.probing():
        await into(watch.window, _BEGIN)
        doubt = await _silent(watch, "web-2", POSTGRESQL)
        began = len(prober.seen.calls)
        await watch.until(
            "web-2 answers again", lambda: any(p.status == 201 for p in prober.seen.calls[began:])
        )
    watch.notes.append(told(prober.seen))
    watch.problems += prober.seen.problems(WHILE_AWAY, 20.0) + prober.lost()
    if not prober.seen.statuses[503]:
        watch.problems.append("no 503 while the database was away")
    return (doubt,)


@asynccontextmanager
async def _vanished(watch: Watch, server: Host) -> AsyncIterator[None]:
    """Cut a server off and kill it; its successor is connected again at the end."""
    others = [host for host in (*INSIDE, hosts.PROXIES) if host != server]
    for other in others:
        hosts.cut(server, other)
    pid = watch.site.pid(server.name)
    os.kill(pid, signal.SIGKILL)
    await watch.until(
        f"{server.name} is there again",
        lambda: watch.site.pid_or_none(server.name) not in (None, pid),
    )
    yield
    hosts.heal()


async def _valkey_vanishes(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    doubt = fault("valkey vanished", doubt=_DOUBT)
    async with _vanished(watch, VALKEY):
        await asyncio.sleep(2.0)
    await watch.until_working(*_EVERYBODY)
    return (doubt,)


async def _postgresql_vanishes(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    doubt = fault("postgresql vanished", doubt=_DOUBT)
    async with _vanished(watch, POSTGRESQL):
        await asyncio.sleep(2.0)
    await watch.until_working("scheduler-1", "scheduler-2", "recorder-1", "recorder-2")
    return (doubt,)


async def _one_way(watch: Watch) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    before = _epochs(watch.site)
    hosts.cut_towards(POSTGRESQL, PROCESSES["scheduler-1"])
    hosts.cut_towards(PROCESSES["worker-1"], VALKEY)
    hosts.cut_towards(VALKEY, PROCESSES["recorder-1"])
    doubt = fault("one way cut", doubt=_DOUBT)
    await asyncio.sleep(_CUT_SECONDS)
    hosts.heal()
    await watch.until_working(*_FIRST)
    _complain_of_epochs(watch, before)
    return (doubt,)


async def _bad_weather(watch: Watch, weather: Weather, seconds: float) -> tuple[Fault, ...]:
    await into(watch.window, _BEGIN)
    for name in _SECOND:
        watch.site.weather(name, weather)
    began = fault("bad links", doubt=_DOUBT)
    await asyncio.sleep(seconds)
    for name in _SECOND:
        watch.site.weather(name, FAIR)
    await watch.until_working(*_SECOND)
    return (replace(began, after_ns=round(seconds * 1e9)),)


async def _loss(watch: Watch) -> tuple[Fault, ...]:
    return await _bad_weather(watch, Weather(loss=0.3), _CUT_SECONDS)


async def _latency(watch: Watch) -> tuple[Fault, ...]:
    return await _bad_weather(watch, Weather(delay=0.3), _CUT_SECONDS)


async def _halves(watch: Watch) -> tuple[Fault, ...]:
    """Part the hosts at random for six seconds, heal for four, six times."""
    chance = random.Random(34)
    faults = []
    await into(watch.window, _BEGIN)
    for _ in range(6):
        everybody = [*INSIDE, RECEIVERS, hosts.PROXIES]
        chance.shuffle(everybody)
        half = len(everybody) // 2
        for one in everybody[:half]:
            for other in everybody[half:]:
                if not (one.outside and other.outside):
                    hosts.cut(one, other)
        faults.append(replace(fault("halves", doubt=_DOUBT), after_ns=6_000_000_000))
        await asyncio.sleep(6.0)
        hosts.heal()
        await asyncio.sleep(4.0)
    await watch.until_working(*_EVERYBODY)
    return tuple(faults)


def _epochs(site: Site) -> dict[int, int]:
    return {row[0]: row[1] for row in site.rows("SELECT partition, epoch FROM partition_leases")}


def _complain_of_epochs(watch: Watch, before: dict[int, int]) -> None:
    """Complain of a partition that was not just taken over once and given back once."""
    rises = {p: epoch - before[p] for p, epoch in _epochs(watch.site).items()}
    watch.notes.append(f"partitions changed hands {max(rises.values())} times at most")
    if max(rises.values()) > 2:
        watch.problems.append(f"a partition changed hands {max(rises.values())} times")


def _held_by(site: Site, name: str) -> bool:
    statement = """
        SELECT count(*) FILTER (WHERE n.name LIKE %s), count(*)
        FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner
    """
    held, total = site.rows(statement, (f"{name}@%",))[0]
    return bool(held == total)


_NETNS = "a namespace per host; the neighbour gets a hardware address that no host has"

EXPERIMENTS = (
    watched(
        _worker_from_valkey,
        id="worker-cut-from-valkey",
        fault="a worker's packets to Valkey and back vanish for 20 s",
        how=_NETNS,
        invariant="the other worker takes over; after it the same process takes work again",
        seconds=45.0,
    ),
    watched(
        _worker_from_everything,
        id="worker-cut-from-everything",
        fault="a worker is cut from Valkey and receivers past its loss, 35 s",
        how=_NETNS,
        invariant="it notices within 30 s; what it says afterwards of lost work is refused",
        seconds=60.0,
    ),
    watched(
        _worker_from_receiver,
        id="worker-cut-from-receiver",
        fault="a worker is cut from receivers, not from Valkey, for 20 s",
        how=_NETNS,
        invariant="the other worker goes on; what the first tried is tried again",
        seconds=45.0,
        latest_start_seconds=45.0,
    ),
    watched(
        _scheduler_from_postgresql,
        id="scheduler-cut-from-postgresql",
        fault="a scheduler is cut from PostgreSQL past its lease, 35 s",
        how=_NETNS,
        invariant="taken over once, given back once; it notices within 30 s and fences itself",
        seconds=60.0,
        latest_start_seconds=20.0,
    ),
    watched(
        _first_of("scheduler", VALKEY),
        id="scheduler-cut-from-valkey",
        fault="a scheduler is cut from Valkey for 20 s",
        how=_NETNS,
        invariant="the other takes over what is its own; nothing starts later than a takeover",
        seconds=45.0,
        latest_start_seconds=15.0,
    ),
    watched(
        _first_of("recorder", POSTGRESQL),
        id="recorder-cut-from-postgresql",
        fault="a recorder is cut from PostgreSQL for 20 s",
        how=_NETNS,
        invariant="the other writes what it had read; the same process goes on afterwards",
        seconds=45.0,
    ),
    watched(
        _first_of("recorder", VALKEY),
        id="recorder-cut-from-valkey",
        fault="a recorder is cut from Valkey for 20 s",
        how=_NETNS,
        invariant="the other reads what it had read; the same process goes on afterwards",
        seconds=45.0,
    ),
    watched(
        _web_from_postgresql,
        id="web-cut-from-postgresql",
        fault="a web server is cut from PostgreSQL for 20 s",
        how=_NETNS,
        invariant="it answers 503 with Retry-After within 20 s, never a false 201",
        seconds=45.0,
        rate=10.0,
    ),
    watched(
        _valkey_vanishes,
        id="valkey-vanishes",
        fault="Valkey's host dies without a word and comes back: connections are half open",
        how="cut from everybody, SIGKILL, started anew, healed",
        invariant="every process finds its half-open connections within 30 s, without a restart",
        seconds=50.0,
    ),
    watched(
        _postgresql_vanishes,
        id="postgresql-vanishes",
        fault="PostgreSQL's host dies without a word and comes back: connections are half open",
        how="cut from everybody, SIGKILL, started anew, healed",
        invariant="every process finds its half-open connections within 30 s, without a restart",
        seconds=50.0,
        latest_start_seconds=20.0,
    ),
    watched(
        _one_way,
        id="one-way",
        fault="links of a scheduler, a worker and a recorder carry one way only, for 20 s",
        how="the hardware address of one of the two neighbours is wrong",
        invariant="no partition changes hands more than there and back",
        seconds=45.0,
    ),
    watched(
        _loss,
        id="loss-30",
        fault="30 % of the segments of a scheduler, a worker and a recorder are lost",
        how="a proxy that delays as retransmissions do, and resets after five, for 20 s",
        invariant="all three work again by themselves; starts may be late by about as long as it "
        "lasts",
        # As long again as they may take to work again: who is to be seen at work needs some.
        seconds=60.0,
        latest_start_seconds=25.0,
    ),
    watched(
        _latency,
        id="latency-300",
        fault="everything a scheduler, a worker and a recorder send or hear takes 300 ms longer",
        how="a proxy that delays each way",
        invariant="nothing runs twice; starts may be late by about as long as it lasts",
        seconds=40.0,
        latest_start_seconds=25.0,
    ),
    watched(
        _halves,
        id="random-halves",
        fault="the hosts fall into random halves, 6 s in 10, for a minute",
        how=_NETNS,
        invariant="every process works again without a restart",
        seconds=80.0,
        rate=15.0,
        latest_start_seconds=45.0,
    ),
)
