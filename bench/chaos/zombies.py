"""Zombies: a process stopped past its loss and continued changes nothing that is not its own.

Each stops one process with SIGSTOP for longer than it may be silent, lets the others take over,
continues it, and counts by ``manage.py status`` what was refused of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from bench.chaos.experiment import Experiment
from bench.chaos.processes import stopped, until_true, within
from bench.chaos.site import Site, fault, into
from bench.installation import InstallationError
from executions.loop.refusals import LEASES, OUTCOMES, STARTS
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, REFUSED_KEY

_BEGIN = 5.0
#: How long a continued process gets to do what it was about to do.
_HAUNTS_SECONDS = 10.0

_CATCH_SECONDS = 30.0
_SETTLED_SECONDS = 0.3

#: Something to be asked of the process with this pid while it is stopped.
Asked = Callable[[Site, int], bool]
#: The same, with how many seconds ago it was stopped.
AskedSoon = Callable[[Site, int, float], bool]


@dataclass(slots=True)
class Zombie:
    """A process of a kind that is stopped and continued, and what was refused of it.

    ``in_hand`` tells whether it was stopped with something in hand; until it is, it is continued
    and stopped again. ``seconds`` is how long it stays so at least, ``taken_over`` whether the
    others have what it had, ``refused`` the kind of write of which some has to be refused.
    """

    kind: str
    in_hand: AskedSoon
    seconds: float
    taken_over: Asked
    refused: str
    #: How long it may take, once it is stopped, to turn out that it has something in hand.
    look_seconds: float = 1.0
    #: Once continued, it sends what the start guard admitted just before it was stopped.
    sends_on: bool = False
    counts: dict[str, int] = field(default_factory=dict)

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Stop it past its loss, continue it, wait until it was refused something."""
        pid = (await site.pids(self.kind))[0]
        before = refusals(site)
        await into(window, _BEGIN)
        async with self._caught(site, pid) as struck:
            await asyncio.sleep(self.seconds)
            await until_true("the others take over", lambda: self.taken_over(site, pid))
        continued = (fault(f"SIGCONT {self.kind}"),) if self.sends_on else ()
        # Where nothing is refused, the check tells it.
        await within(_HAUNTS_SECONDS, lambda: refusals(site)[self.refused] > before[self.refused])
        await into(window, window.length_ms / 1000)
        after = refusals(site)
        self.counts = {kind: after[kind] - before[kind] for kind in after}
        return (struck, *continued)

    @asynccontextmanager
    async def _caught(self, site: Site, pid: int) -> AsyncIterator[Fault]:
        """Stop it at a moment at which it has something in hand, until the end of the block."""
        deadline = time.monotonic() + _CATCH_SECONDS
        while time.monotonic() < deadline:
            async with stopped([pid]):
                struck = fault(f"SIGSTOP {self.kind}")
                look = partial(self._has_in_hand, site, pid, time.monotonic())
                if await within(self.look_seconds, look):
                    yield struck
                    return
        raise InstallationError(f"no {self.kind} was stopped with something in hand")

    def _has_in_hand(self, site: Site, pid: int, since: float) -> bool:
        return self.in_hand(site, pid, time.monotonic() - since)

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Tell what was refused."""
        told = ", ".join(f"{kind} {count}" for kind, count in self.counts.items())
        outcome.notes.append(f"refused of the {self.kind}: {told}")
        return [] if self.counts[self.refused] else [f"no {self.refused} of it were refused"]


def refusals(site: Site) -> dict[str, int]:
    """Return the counts of what was refused, by kind."""
    with site.valkey() as client:
        found = client.hgetall(REFUSED_KEY)
    return {kind: int(found.get(kind.encode(), 0)) for kind in (OUTCOMES, STARTS, LEASES)}


def runs_something(site: Site, pid: int, seconds: float = 0.0) -> bool:
    """Return whether the worker of that pid has a request in flight that it has announced."""
    return bool(
        site.rows(
            "SELECT 1 FROM executions WHERE status = 'RUNNING' AND worker LIKE %s LIMIT 1",
            (f"%:{pid}-%",),
        )
    )


def worker_is_lost(site: Site, pid: int) -> bool:
    """Return whether an attempt of the worker has ended as lost."""
    return bool(
        site.rows(
            "SELECT 1 FROM attempts WHERE outcome = 'WORKER_LOST' AND worker LIKE %s LIMIT 1",
            (f"%:{pid}-%",),
        )
    )


def something_is_held(site: Site, pid: int, seconds: float = 0.0) -> bool:
    """Return whether something is queued that should have begun: a stopped worker holds it."""
    return bool(
        site.rows(
            "SELECT 1 FROM executions"
            " WHERE status = 'QUEUED' AND due_at < now() - interval '0.5 seconds' LIMIT 1"
        )
    )


def nothing_is_held(site: Site, pid: int) -> bool:
    """Return whether all that a stopped worker has held is taken back."""
    return not something_is_held(site, pid)


def owns_something(site: Site, pid: int, seconds: float = 0.0) -> bool:
    """Return whether a partition is a scheduler's of that pid."""
    return bool(
        site.rows(
            "SELECT 1 FROM partition_leases l JOIN scheduler_nodes n ON n.id = l.owner"
            " WHERE n.pid = %s LIMIT 1",
            (pid,),
        )
    )


def owns_nothing(site: Site, pid: int) -> bool:
    """Return whether no partition is a scheduler's of that pid."""
    return not owns_something(site, pid)


def has_something_pending(site: Site, pid: int, seconds: float = 0.0) -> bool:
    """Return whether the recorder of that pid was given outcomes so long ago that wait still."""
    with site.valkey() as client:
        found = client.xpending_range(
            OUTCOME_STREAM, OUTCOME_GROUP, "-", "+", 1000, idle=round(seconds * 1000)
        )
    return any(one["consumer"].decode().endswith(f":{pid}") for one in found)


def has_read_a_batch(site: Site, pid: int, seconds: float) -> bool:
    """Return whether the recorder of that pid has read a batch and written nothing of it yet.

    Asked right after it was stopped: what is given to a stopped one it never reads in time. One in
    a transaction will not do, since the database ends that before anybody claims the batch.
    """
    if not has_something_pending(site, pid, seconds):
        return False
    # The transactions of all others are over by then.
    site.rows("SELECT pg_sleep(%s)", (_SETTLED_SECONDS,))
    return not site.rows(
        "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
        " AND state_change < clock_timestamp() - interval '0.2 seconds' LIMIT 1"
    )


def has_nothing_pending(site: Site, pid: int) -> bool:
    """Return whether no outcome waits for the recorder of that pid."""
    return not has_something_pending(site, pid)


_IN_FLIGHT = Zombie("worker", runs_something, 7.0, worker_is_lost, OUTCOMES, sends_on=True)
# Of what it holds, one may have been admitted, announced and not sent yet.
_HOLDING = Zombie("worker", something_is_held, 11.0, nothing_is_held, STARTS, sends_on=True)
_SCHEDULER = Zombie("scheduler", owns_something, 10.0, owns_nothing, LEASES)
_RECORDER = Zombie("recorder", has_read_a_batch, 6.0, has_nothing_pending, OUTCOMES, 0.0)


async def _web_frozen(site: Site, window: Window) -> tuple[Fault, ...]:
    found = await site.pids("web")
    await into(window, _BEGIN)
    async with stopped(found):
        await asyncio.sleep(6.0)
    return (fault("SIGSTOP web", seconds=6.0),)


EXPERIMENTS = (
    Experiment(
        id="zombie-worker-in-flight",
        fault="a worker is suspended with requests in flight, is given up, and goes on",
        how="SIGSTOP of one of two workers until its attempts are lost, SIGCONT",
        invariant="its results are refused by token, and counted",
        inject=_IN_FLIGHT.inject,
        check=_IN_FLIGHT.check,
        slow_share=0.5,
    ),
    Experiment(
        id="zombie-worker-holding",
        fault="a worker is suspended before the work it holds is due, and goes on afterwards",
        how="SIGSTOP of one of two workers until its work is taken back, SIGCONT",
        invariant="it sends nothing that was taken back unstarted; its starts are refused, and "
        "counted",
        inject=_HOLDING.inject,
        check=_HOLDING.check,
        slow_share=0.0,
    ),
    Experiment(
        id="zombie-scheduler",
        fault="a scheduler is suspended past its leases, and goes on",
        how="SIGSTOP of one of two schedulers until it owns nothing, SIGCONT",
        invariant="its renewals are refused by epoch, and counted; no instant has two rows",
        inject=_SCHEDULER.inject,
        check=_SCHEDULER.check,
    ),
    Experiment(
        id="zombie-recorder",
        fault="a recorder is suspended with outcomes in hand, and goes on",
        how="SIGSTOP of one of two recorders until the other has claimed its batch, SIGCONT",
        invariant="each outcome is recorded once; the second time is refused, and counted",
        inject=_RECORDER.inject,
        check=_RECORDER.check,
        latest_start_seconds=5.0,
    ),
    Experiment(
        id="web-frozen",
        fault="the web process hangs",
        how="SIGSTOP of the web process for six seconds, SIGCONT",
        invariant="executions go on; waiting calls are answered afterwards",
        inject=_web_frozen,
        seconds=20.0,
        latest_start_seconds=8.0,
    ),
)
