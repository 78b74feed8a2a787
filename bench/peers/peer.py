"""A peer made of programs: servers, workers that are ready when they say so, a script that plans.

The modules of peers only say which programs those are.
"""

from __future__ import annotations

import os
import subprocess
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from bench.installation import CHECKOUT
from bench.peers import servers
from bench.peers.contender import Killable
from bench.peers.plan import READY, Plan
from bench.peers.programs import Worker, run_script
from bench.processes import kill

_PLAN_SECONDS = 600.0
_OURS = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "DATA_DIR")
#: libpq's and Celery's own variables, which come before what a program is told otherwise.
_LEADING_ELSEWHERE = ("PG", "CELERY_")


class Peer(Killable):
    """Starts servers and workers, and hands plans to a script on its standard input."""

    #: PostgreSQL, Valkey, both or none.
    servers: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[int, str] = {}
        self._servers = servers.Servers()
        self._workers: list[Worker] = []
        #: Of every program of this peer.
        self.environment: dict[str, str] = {}

    @abstractmethod
    def workers(self) -> dict[str, list[str]]:
        """Return the commands that run all the time, by kind, in the order of their start."""

    @abstractmethod
    def scheduling(self) -> list[str]:
        """Return the command that reads a plan and hands it over."""

    def prepare(self) -> None:
        """Do what has to be done once between the servers and the workers."""

    def start(self, scratch: Path) -> None:
        """Start servers, prepare, start the workers."""
        self._scratch = scratch
        self._servers = self._stack.enter_context(servers.running(scratch / "data", self.servers))
        self.environment = environment(self._servers.environment)
        self.prepare()
        self._start_workers()

    def kill(self) -> None:
        """Kill servers and workers with SIGKILL; return when all have ended."""
        kill(self.kinds())
        for worker in self._workers:
            worker.stop()
        self._servers.stop()
        self._workers.clear()
        self._kinds.clear()

    def restart(self) -> None:
        """Start servers and workers again on what a kill has left."""
        self._servers.start()
        self._start_workers()

    def schedule(self, plan: Plan) -> None:
        """Run the script with the plan."""
        run_script(self.scheduling(), self.environment, plan.as_line())

    def kinds(self) -> dict[int, str]:
        """Return servers and workers."""
        return self._servers.kinds | self._kinds

    def _start_workers(self) -> None:
        for kind, command in self.workers().items():
            self._start_worker(kind, command, self._scratch)

    def _start_worker(self, kind: str, command: list[str], scratch: Path, **options: int) -> Worker:
        log = scratch / f"{self.name}-{kind}.log"
        worker = Worker(command, self.environment, log, **options)
        self._stack.callback(worker.stop)
        self._workers.append(worker)
        self._kinds[worker.pid] = kind
        worker.wait_for(READY)
        return worker


class InProcessPeer(Peer):
    """A peer whose worker schedules by itself: plans go to its standard input."""

    _worker: Worker

    def scheduling(self) -> list[str]:
        """Return nothing: there is no such program."""
        return []

    def schedule(self, plan: Plan) -> None:
        """Tell the worker the plan and wait until it says that it has all of it."""
        self._worker.tell(plan.as_line())
        self._worker.wait_for(plan.receipt, _PLAN_SECONDS)

    def _start_worker(self, kind: str, command: list[str], scratch: Path, **options: int) -> Worker:
        options = {**options, "stdin": subprocess.PIPE}
        self._worker = super()._start_worker(kind, command, scratch, **options)
        return self._worker


def environment(added: dict[str, str]) -> dict[str, str]:
    """Return this process's environment with more, without what leads to an installation."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and not name.startswith(_LEADING_ELSEWHERE)
    }
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(CHECKOUT), **added}
