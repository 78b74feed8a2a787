"""Peers on Node: each one script, which works or schedules as it is told.

Of each the last release that runs on Node 20; Graphile Worker from 0.18, pg-boss from 11 and undici
from 8 on ask for Node 22. BullMQ has the driver that it is developed with.
"""

from __future__ import annotations

from typing import ClassVar

from bench.peers import install
from bench.peers.peer import Peer
from bench.peers.servers import POSTGRESQL, VALKEY


class NodePeer(Peer):
    """A peer whose script is named like itself."""

    needs = install.NODE_KIND
    pace = 1000.0
    #: Modules whose versions are told.
    modules: ClassVar[tuple[str, ...]] = ()

    def workers(self) -> dict[str, list[str]]:
        """Return the worker."""
        return {"worker": self._command("work")}

    def scheduling(self) -> list[str]:
        """Return the program that adds the jobs."""
        return self._command("schedule")

    def versions(self) -> dict[str, str]:
        """Return the versions of its modules, of the HTTP client and of Node."""
        return install.node_versions(*self.modules, "undici")

    def _command(self, verb: str) -> list[str]:
        return ["node", str(install.NODE_PLACE / f"{self.name}.mjs"), verb]


class GraphileWorker(NodePeer):
    """Graphile Worker with its local queue and batched completion, as it advises for throughput."""

    name = "graphile-worker"
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL,)
    modules = ("graphile-worker", "pg")


class BullMq(NodePeer):
    """BullMQ: delayed jobs added in bulk, one worker with two hundred at a time."""

    name = "bullmq"
    servers: ClassVar[tuple[str, ...]] = (VALKEY,)
    modules = ("bullmq", "ioredis")


class PgBoss(NodePeer):
    """pg-boss: two workers that fetch five hundred jobs each, again at once behind a full batch."""

    name = "pg-boss"
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL,)
    modules = ("pg-boss", "pg")
