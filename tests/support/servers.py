"""Real PostgreSQL and Valkey for a test session: the embedded ones, without durability.

Used by the session fixture and by tests of the servers themselves. Everything is removed by
``stop``; a killed test run takes its servers with it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from launcher.embedded import EmbeddedServer, Placement, place_servers
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.embedded_valkey import EmbeddedValkey
from launcher.passage import can_enter
from launcher.privileges import account_of
from launcher.spawning import spawn_options

SECRETS = {"postgres_password": "test-postgres", "valkey_password": "test-valkey"}


def start_servers(tmp_dir: Path) -> tuple[str, str, Callable[[], None]]:
    """Start both servers on a directory; return database URL, Redis URL and ``stop``."""
    data_dir = reachable_directory(tmp_dir)
    placement = place_servers(data_dir)
    servers: list[EmbeddedServer] = [
        EmbeddedPostgres(placement, SECRETS, durable=False),
        EmbeddedValkey(placement, SECRETS, durable=False),
    ]
    running: list[subprocess.Popen[bytes]] = []

    def stop() -> None:
        for server, process in reversed(list(zip(servers, running, strict=False))):
            stop_server(server, process)
        remove(data_dir, placement)

    try:
        for server in servers:
            running.append(spawn_server(server))
        for server in servers:
            server.wait_ready()
    except BaseException:
        stop()
        raise
    database, valkey = servers
    return database.url, valkey.url, stop


def reachable_directory(tmp_dir: Path) -> Path:
    """Return the directory, or as root another one that the servers' account can reach.

    Every test session closes the directory that pytest's directories are in again.
    """
    if can_enter(tmp_dir.parent, account_of(tmp_dir)):
        return tmp_dir
    return Path(tempfile.mkdtemp(prefix="punctual-test-"))


def spawn_server(server: EmbeddedServer) -> subprocess.Popen[bytes]:
    """Prepare and spawn one server; its output goes to a file beside its data."""
    server.prepare()
    spec = server.process()
    with (server.placement.base / f"{spec.name}.out").open("ab") as output:
        return subprocess.Popen(spec.argv, stdout=output, stderr=output, **spawn_options(spec))


def stop_server(server: EmbeddedServer, process: subprocess.Popen[bytes]) -> None:
    """Stop one server cleanly and wait for its end."""
    process.send_signal(server.process().stop_signal)
    process.wait(timeout=120)


def remove(data_dir: Path, placement: Placement) -> None:
    """Remove everything the servers of a test had."""
    for directory in {data_dir, placement.base, placement.sockets}:
        shutil.rmtree(directory, ignore_errors=True)
