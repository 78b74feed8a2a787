"""Peers in Python that Punctual does not contain, and Punctual's own client without the product."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import ClassVar

from bench.peers import install
from bench.peers.peer import InProcessPeer, Peer
from bench.peers.servers import POSTGRESQL

_PROCRASTINATE = "bench.peers.workers.procrastinate_peer"
_APSCHEDULER = "bench.peers.workers.apscheduler_peer"


class Procrastinate(Peer):
    """Procrastinate: asynchronous tasks, a hundred at a time, finished jobs deleted."""

    name = "procrastinate"
    needs = install.PYTHON_KIND
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL,)
    pace = 300.0

    def workers(self) -> dict[str, list[str]]:
        """Return the worker."""
        return {"worker": [str(install.PYTHON), "-m", _PROCRASTINATE, "work"]}

    def scheduling(self) -> list[str]:
        """Return the program that defers the jobs."""
        return [str(install.PYTHON), "-m", _PROCRASTINATE, "schedule"]

    def versions(self) -> dict[str, str]:
        """Return its version and those of what it is used with."""
        return install.python_versions("procrastinate", "psycopg", "aiohttp")


class Apscheduler(InProcessPeer):
    """APScheduler 3 with its job store in PostgreSQL and fifty threads.

    Its documentation forbids two processes on one job store, so the scheduler that runs the jobs
    is also the one that they are added to.
    """

    name = "apscheduler"
    needs = install.PYTHON_KIND
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL,)
    pace = 150.0

    def workers(self) -> dict[str, list[str]]:
        """Return the scheduler."""
        return {"worker": [str(install.PYTHON), "-m", _APSCHEDULER]}

    def versions(self) -> dict[str, str]:
        """Return its version and those of what it is used with."""
        return install.python_versions("apscheduler", "sqlalchemy", "psycopg", "urllib3")


class Raw(InProcessPeer):
    """Punctual's HTTP client in a plain loop: what a product around it can reach at most."""

    name = "raw"
    pace = 5000.0

    def workers(self) -> dict[str, list[str]]:
        """Return the loop."""
        return {"worker": [sys.executable, "-m", "bench.peers.workers.raw_peer"]}

    def versions(self) -> dict[str, str]:
        """Return the versions of its event loop and parser."""
        return {name: metadata.version(name) for name in ("uvloop", "httptools")}
