"""Orderly stops: one process of each kind is asked to end, and all of them one after the other."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

from bench.chaos.experiment import Experiment
from bench.chaos.processes import KINDS, until_true
from bench.chaos.site import Site, into
from bench.installation import CHECKOUT
from launcher import local_state
from launcher.up import CONFLICT
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, WORKERS_KEY

_BEGIN = 4.0
_REFUSED_SECONDS = 60.0


def running(site: Site) -> dict[str, tuple[str, int]]:
    """Return kind and pid of Punctual's own processes by name, from what the supervisor notes."""
    return {
        one["name"]: (one["kind"], int(one["pid"]))
        for one in local_state.load_runtime(site.data_dir).get("processes", ())
        if one["kind"] in KINDS and one["pid"]
    }


def is_live(site: Site, kind: str, pid: int) -> bool:
    """Return whether the process does its work: answers, beats, owns or asks for outcomes."""
    return _LIVE[kind](site, pid)


def _answers(site: Site, pid: int) -> bool:
    address = urlsplit(site.product.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _beats(site: Site, pid: int) -> bool:
    with site.valkey() as client:
        return any(f":{pid}-".encode() in name for name in client.zrange(WORKERS_KEY, 0, -1))


def _owns(site: Site, pid: int) -> bool:
    return bool(
        site.rows(
            "SELECT 1 FROM partition_leases l JOIN scheduler_nodes n ON n.id = l.owner"
            " WHERE n.pid = %s AND least(l.expires_at, n.lease_expires_at) > now() LIMIT 1",
            (pid,),
        )
    )


def _asks(site: Site, pid: int) -> bool:
    with site.valkey() as client:
        found = client.xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    return any(one["name"].decode().endswith(f":{pid}") for one in found)


def _runs(site: Site, pid: int) -> bool:
    # It says nothing of itself while there is nothing to do.
    return any(pid == found for _, found in running(site).values())


_LIVE: dict[str, Callable[[Site, int], bool]] = {
    "web": _answers,
    "worker": _beats,
    "system-worker": _runs,
    "scheduler": _owns,
    "recorder": _asks,
}


async def restart(site: Site, name: str) -> float:
    """Ask a process to end and wait until its successor is live; return the seconds it took."""
    kind, pid = running(site)[name]
    os.kill(pid, signal.SIGTERM)

    def successor_is_live() -> bool:
        found = running(site).get(name, ("", pid))[1]
        return found != pid and is_live(site, kind, found)

    return await until_true(f"{name} is live again", successor_is_live)


class WarmStop:
    """Asks one process of each kind to end, all at the same moment."""

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Restart the first of each kind; no fault is noted, so nothing may be doubled."""
        first = {kind: name for name, (kind, _) in sorted(running(site).items(), reverse=True)}
        await into(window, _BEGIN)
        await asyncio.gather(*(restart(site, name) for name in first.values()))
        return ()


class RollingRestart:
    """Restarts every process, one after the other, so long apart (seconds)."""

    def __init__(self, apart_seconds: float = 0.0) -> None:
        self._apart = apart_seconds
        self.took: dict[str, float] = {}

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Restart all; no fault is noted, so nothing may be doubled."""
        self.took.clear()
        await into(window, _BEGIN)
        for name in running(site):
            self.took[name] = await restart(site, name)
            await asyncio.sleep(self._apart)
        return ()

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Tell how long each was away."""
        told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.took.items())
        outcome.notes.append(f"restarted: {told}")
        return []


class StartedTwice:
    """Starts the installation once more while it runs, with its very settings."""

    def __init__(self) -> None:
        self.told = ""
        self.code = 0

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Start it and wait for its end, which must come by itself."""
        await into(window, _BEGIN)
        second = await asyncio.create_subprocess_exec(
            sys.executable,
            "manage.py",
            "up",
            cwd=CHECKOUT,
            env=site.product.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_REFUSED_SECONDS):
                output, _ = await second.communicate()
        except TimeoutError:
            second.terminate()
            output, _ = await second.communicate()
        self.told, self.code = output.decode(errors="replace"), second.returncode or 0
        return ()

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Ask that it ended with the code of a conflict and said why."""
        if self.code == CONFLICT and "already" in self.told:
            return []
        return [f"the second start ended with {self.code}: {self.told[-300:]}"]


_ROLLING = RollingRestart()
_TWICE = StartedTwice()

EXPERIMENTS = (
    Experiment(
        id="started-twice",
        fault="the installation is started again while it runs",
        how="a second `manage.py up` with the same settings",
        invariant="it ends at once and says why; the first goes on undisturbed",
        inject=_TWICE.inject,
        check=_TWICE.check,
        seconds=15.0,
        latest_start_seconds=5.0,
    ),
    Experiment(
        id="warm-stop",
        fault="one process of each kind is stopped in order",
        how="SIGTERM of a worker, a scheduler, a recorder, the web process and the system's worker "
        "at the same moment",
        invariant="nothing is doubled; what cannot finish is handed back at once",
        inject=WarmStop().inject,
        seconds=20.0,
        slow_share=0.4,
        latest_start_seconds=5.0,
    ),
    Experiment(
        id="rolling-restart",
        fault="every process is restarted, one after the other",
        how="SIGTERM of each process in turn, the next when its successor is live",
        invariant="nothing is doubled, nothing late by more than three seconds",
        inject=_ROLLING.inject,
        check=_ROLLING.check,
        seconds=40.0,
        slow_share=0.4,
        latest_start_seconds=3.0,
    ),
)
