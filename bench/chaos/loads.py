"""Want of the machine, and a broker that delivers twice: processor, open files, messages."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import redis

from bench.chaos.experiment import Experiment
from bench.chaos.processes import stopped, within
from bench.chaos.site import Site, fault, into
from bench.chaos.zombies import refusals
from bench.installation import close_connections
from executions.loop.refusals import STARTS
from launcher.privileges import Account
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_BEGIN = 5.0
_STARVED_SECONDS = 10.0
_BUSY_LOOPS = 8
#: Shorter than a worker may be silent: nothing is taken back meanwhile.
_PILE_UP_SECONDS = 3.0
_OLD_COPIES_AFTER_SECONDS = 12.0
#: Shorter than five attempts of one execution take, even where the jitter is small.
_FEW_FILES_SECONDS = 0.7
#: How often it is tried until an attempt fails, and how long its record may take.
_FEW_FILES_TRIES, _FAILED_SECONDS = 4, 2.0
#: How many files more than are open may be opened.
_SPARE_FILES = 1


class Copies:
    """Messages of the broker that are delivered three times, out of order, some much later."""

    def __init__(self) -> None:
        self.copied = 0
        self.refused = 0

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Let messages pile up, copy each twice, and bring the copies again later."""
        before = refusals(site)[STARTS]
        workers = await site.pids("worker")
        await into(window, _BEGIN)
        with site.valkey() as client:
            async with stopped(workers):
                await asyncio.sleep(_PILE_UP_SECONDS)
                copied = copy_messages(client, random.Random(7))
            self.copied = sum(map(len, copied.values()))
            await into(window, _BEGIN + _OLD_COPIES_AFTER_SECONDS)
            for key, messages in copied.items():
                client.lpush(key, *messages)
        await into(window, window.length_ms / 1000)
        self.refused = refusals(site)[STARTS] - before
        # Nothing died: no duplicate has an excuse.
        return ()

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Ask that there were copies, and that each of them was refused."""
        outcome.notes.append(f"{self.copied} messages copied, {self.refused} starts refused")
        if not self.copied:
            return ["no message waited, so none was copied"]
        if self.refused < self.copied:
            return [f"{self.refused} starts refused of {self.copied} copied messages"]
        return []


def copy_messages(client: redis.Redis, order: random.Random) -> dict[bytes, list[bytes]]:
    """Put every waiting message into its list twice more, shuffled; return what was copied."""
    copied = {}
    for key in broker_lists(client):
        messages = cast(list[bytes], client.lrange(key, 0, -1))
        if not messages:
            continue
        thrice = messages * 3
        order.shuffle(thrice)
        with client.pipeline(transaction=True) as pipeline:
            pipeline.ltrim(key, len(messages), -1)
            pipeline.rpush(key, *thrice)
            pipeline.execute()
        copied[key] = messages
    return copied


def broker_lists(client: redis.Redis) -> list[bytes]:
    """Return the keys of the queues that have messages for workers of the default pool."""
    found = cast(list[bytes], client.keys("*"))
    return [
        key
        for key in found
        if client.type(key) == b"list" and not key.startswith((b"punctual:", b"_kombu", b"unacked"))
    ]


class Starved:
    """Every processor is fought for by several busy loops."""

    def __init__(self) -> None:
        self.lost_before = 0

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Let the loops run for a while; each ends by itself, too."""
        self.lost_before = _lost(site)
        await into(window, _BEGIN)
        with _busy(_BUSY_LOOPS):
            await asyncio.sleep(_STARVED_SECONDS)
        return (fault("busy loops", seconds=_STARVED_SECONDS),)

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Check that no worker was given up, and no execution doubled, for being slow."""
        found = []
        lost = _lost(site) - self.lost_before
        if lost:
            found.append(f"{lost} attempts of live workers were given up")
        if outcome.verdict.duplicates:
            found.append(f"{outcome.verdict.duplicates} doubled although nothing died")
        return found


@contextmanager
def _busy(count: int) -> Iterator[None]:
    loop = f"import time\nend = time.time() + {3 * _STARVED_SECONDS}\nwhile time.time() < end: pass"
    running = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def _lost(site: Site) -> int:
    found: int = site.rows("SELECT count(*) FROM attempts WHERE outcome = 'WORKER_LOST'")[0][0]
    return found


class FewFiles:
    """Workers that can open hardly a file more, and whose receiver has closed what was open."""

    def __init__(self) -> None:
        self.failed = 0

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Limit both workers for a while."""
        before = _failed(site)
        workers = await site.pids("worker")
        await into(window, _BEGIN)
        struck = []
        for _ in range(_FEW_FILES_TRIES):
            # Workers keep hundreds of connections open: without this none would need a new one.
            await asyncio.to_thread(close_connections, window.receiver_url)
            with _limited(workers):
                await asyncio.sleep(_FEW_FILES_SECONDS)
            struck.append(fault("few open files", seconds=_FEW_FILES_SECONDS))
            # A fast worker has opened again what it needs before it is limited.
            if await within(_FAILED_SECONDS, lambda: _failed(site) > before):
                break
        self.failed = _failed(site) - before
        return tuple(struck)

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Tell how many attempts could not be made."""
        outcome.notes.append(f"{self.failed} attempts failed for want of a file")
        return [] if self.failed else ["no attempt failed: nothing was short"]


def _failed(site: Site) -> int:
    found: int = site.rows("SELECT count(*) FROM attempts WHERE outcome <> 'SUCCEEDED'")[0][0]
    return found


@contextmanager
def _limited(pids: Sequence[int]) -> Iterator[None]:
    """Hold the limit of open files just above the first free number, and raise it again."""
    before = {pid: _limits_of(pid) for pid in pids}
    for pid, (_, hard) in before.items():
        _limit(pid, _first_free(pid) + _SPARE_FILES, hard)
    try:
        yield
    finally:
        for pid, (soft, hard) in before.items():
            _limit(pid, soft, hard)


def _limits_of(pid: int) -> tuple[int, int]:
    lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    found = next(line for line in lines if line.startswith("Max open files")).split()
    soft, hard = (resource.RLIM_INFINITY if one == "unlimited" else int(one) for one in found[3:5])
    return soft, hard


def _limit(pid: int, soft: int, hard: int) -> None:
    """Set the limit as the process's own account, which may where a container's root may not."""
    owner = Path(f"/proc/{pid}").stat()
    program = f"import resource; resource.prlimit({pid}, resource.RLIMIT_NOFILE, ({soft}, {hard}))"
    account = Account(owner.st_uid, owner.st_gid)
    as_owner = account.spawn_options() if os.geteuid() == 0 else {}
    subprocess.run([sys.executable, "-c", program], check=True, **as_owner)


def _first_free(pid: int) -> int:
    taken = {int(name) for name in os.listdir(Path("/proc", str(pid), "fd"))}
    return next(number for number in itertools.count() if number not in taken)


_COPIES = Copies()
_FEW_FILES = FewFiles()
_STARVED = Starved()

EXPERIMENTS = (
    Experiment(
        id="messages-thrice",
        fault="the broker delivers every message three times, in any order",
        how="workers held for three seconds, the broker's lists copied twice, shuffled, and once "
        "more twelve seconds later",
        invariant="nothing is doubled; each surplus copy is refused a start, and counted",
        inject=_COPIES.inject,
        check=_COPIES.check,
        latest_start_seconds=8.0,
    ),
    Experiment(
        id="processor-starved",
        fault="the machine is busy with something else",
        how="eight busy loops for ten seconds",
        invariant="starts are late, but no live worker is given up, and nothing is doubled",
        inject=_STARVED.inject,
        check=_STARVED.check,
        seconds=20.0,
    ),
    Experiment(
        id="few-open-files",
        fault="workers cannot open further files",
        how="the receiver closes its connections; prlimit of both workers to one more open file "
        "for 0.7 seconds, again until an attempt fails",
        invariant="attempts that could not connect are made again; no worker ends",
        inject=_FEW_FILES.inject,
        check=_FEW_FILES.check,
        seconds=20.0,
        slow_share=0.5,
    ),
)
