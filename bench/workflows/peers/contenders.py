"""Who takes part, and how each peer is set up for production as its own documentation advises.

All peers have servers from the same wheels, durable as Punctual's: PostgreSQL with its defaults,
Valkey with an append-only file that is written every second.

DBOS: PostgreSQL as its documentation recommends for production, two processes with executor ids of
their own, which recover their workflows when they start; a queue, so that both get runs.
Celery: acknowledged late and rejected when a worker is lost, which its guide advises for tasks that
may run twice; two prefork processes, as in ``bench.peers``; a visibility timeout of half a minute
instead of an hour, after which the messages of a killed worker come back.
BullMQ: an append-only file and ``noeviction``, tries with a growing delay, one worker with two
hundred jobs at a time, as in ``bench.peers``; stalled jobs come back after its default times.
"""

from __future__ import annotations

import json
import sys
from typing import ClassVar

from bench.peers import install
from bench.peers.celery_peers import CeleryEta
from bench.peers.contender import Killable
from bench.peers.node_peers import NodePeer
from bench.peers.peer import Peer
from bench.peers.plan import Plan
from bench.peers.programs import run_script
from bench.peers.servers import POSTGRESQL, VALKEY
from bench.workflows.peers.flows import flows
from bench.workflows.peers.punctual import Punctual
from bench.workflows.peers.shapes import shape_of

_DBOS = "bench.workflows.peers.workers.dbos_peer"
_CANVAS = "bench.workflows.peers.workers.canvas_app"


class Dbos(Peer):
    """DBOS: a run is a workflow on a queue, its calls are steps."""

    name = "dbos"
    needs = install.PYTHON_KIND
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL,)

    def workers(self) -> dict[str, list[str]]:
        """Return two executors, one a core."""
        command = [str(install.PYTHON), "-m", _DBOS, "work"]
        return {name: [*command, name] for name in ("worker-1", "worker-2")}

    def scheduling(self) -> list[str]:
        """Return the program that enqueues the runs."""
        return [str(install.PYTHON), "-m", _DBOS, "start"]

    def versions(self) -> dict[str, str]:
        """Return its version and those of what it is used with."""
        return install.python_versions("dbos", "sqlalchemy", "psycopg", "aiohttp")


class CeleryCanvas(CeleryEta):
    """Celery's canvas: a run is a chain of tasks and chords."""

    name = "celery-canvas"

    def workers(self) -> dict[str, list[str]]:
        """Return the worker of ``bench.peers`` with the application of the canvas."""
        [(kind, command)] = super().workers().items()
        place = command.index("--app") + 1
        return {kind: [*command[:place], _CANVAS, *command[place + 1 :]]}

    def scheduling(self) -> list[str]:
        """Return the program that publishes the canvases."""
        return [sys.executable, "-m", _CANVAS]


class BullMqFlows(NodePeer):
    """BullMQ's flows: a chain is a nest of jobs; a graph is cut into trees.

    A flow is a tree whose parents wait for their children, and a job has one parent, so a step
    that a whole fan waits for ends its flow, and its processor adds the next one. Of the ten steps
    that makes three flows: the first step alone; three loads under their check; and three
    publications under what tidies up, under the report.
    """

    name = "bullmq-flows"
    servers: ClassVar[tuple[str, ...]] = (VALKEY,)
    modules = ("bullmq", "ioredis")

    def schedule(self, plan: Plan) -> None:
        """Run the script with the plan and the trees of its shape."""
        told = json.loads(plan.as_line()) | {"flows": flows(shape_of(plan))}
        run_script(self.scheduling(), self.environment, json.dumps(told))


_ALL: tuple[type[Killable], ...] = (Punctual, Dbos, CeleryCanvas, BullMqFlows)
CONTENDERS = {one.name: one for one in _ALL}
