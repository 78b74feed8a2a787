"""A Valkey with persistence that tests may kill and start again on the same socket."""

from __future__ import annotations

from pathlib import Path

from launcher.embedded import place_servers
from launcher.embedded_valkey import EmbeddedValkey
from tests.support.servers import SECRETS, reachable_directory, remove, spawn_server


class KillableValkey:
    """The server of one test module; ``url`` stays the same over restarts."""

    def __init__(self, tmp_dir: Path) -> None:
        self._directory = reachable_directory(tmp_dir)
        self._server = EmbeddedValkey(place_servers(self._directory), SECRETS, durable=True)
        self.url = self._server.url
        self.start()

    def start(self) -> None:
        """Start it on the data that it had, and wait until it answers."""
        self._process = spawn_server(self._server)
        self._server.wait_ready()

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        """End it and remove all it had."""
        self.kill()
        remove(self._directory, self._server.placement)
