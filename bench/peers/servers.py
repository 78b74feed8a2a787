"""PostgreSQL and Valkey for a peer: the servers that ``up`` runs, from the same wheels.

Set up alike and durable as there, reached by unix sockets as there.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from bench.peers.contender import CouldNotRunError
from launcher.embedded import EmbeddedError, EmbeddedServer, place_servers
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.embedded_valkey import EmbeddedValkey
from launcher.privileges import PrivilegeError
from launcher.spawning import ProcessSpec, spawn_options
from scheduler_site.broker import broker_url

POSTGRESQL, VALKEY = "postgresql", "valkey"
#: They are reached by this user's processes alone, and live for one turn.
_SECRETS = {"postgres_password": "peers-postgres", "valkey_password": "peers-valkey"}
_STOP_SECONDS = 30.0


@dataclass(slots=True)
class Servers:
    """Running servers: their processes, URLs, and the environment by which programs find them."""

    made: dict[str, EmbeddedServer] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    _processes: list[tuple[signal.Signals, subprocess.Popen[bytes]]] = field(default_factory=list)

    def start(self) -> None:
        """Start them on their data and wait until they answer; once, and again after a kill."""
        with _told():
            for kind, server in self.made.items():
                server.prepare()
                spec = server.process()
                process = _spawned(server, spec)
                self._processes.append((spec.stop_signal, process))
                self.kinds[process.pid] = kind
            for kind, server in self.made.items():
                server.wait_ready()
                self.urls[kind] = server.url
                self.environment |= environment_of(kind, server.url)

    def stop(self) -> None:
        """Stop them, the last one first; also those that were killed."""
        while self._processes:
            stop_signal, process = self._processes.pop()
            process.send_signal(stop_signal)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.kinds.clear()


@contextmanager
def running(data_dir: Path, wanted: Sequence[str]) -> Iterator[Servers]:
    """Start the servers named, yield them when they answer, stop them and remove their data."""
    with _told():
        placement = place_servers(data_dir)
    made: dict[str, EmbeddedServer] = {
        POSTGRESQL: EmbeddedPostgres(placement, _SECRETS),
        VALKEY: EmbeddedValkey(placement, _SECRETS),
    }
    found = Servers({kind: made[kind] for kind in wanted})
    with ExitStack() as stack:
        for directory in (placement.base, placement.sockets):
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.callback(found.stop)
        found.start()
        yield found


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (EmbeddedError, PrivilegeError) as error:
        raise CouldNotRunError(str(error)) from error


def _spawned(server: EmbeddedServer, spec: ProcessSpec) -> subprocess.Popen[bytes]:
    with (server.placement.base / f"{spec.name}.out").open("ab") as output:
        return subprocess.Popen(spec.argv, stdout=output, stderr=output, **spawn_options(spec))


def environment_of(kind: str, url: str) -> dict[str, str]:
    """Return the variables by which drivers of several languages find a server of this URL."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    if kind == VALKEY:
        return {
            "BROKER_URL": broker_url(url),
            "VALKEY_SOCKET": unquote(parts.path),
            "VALKEY_PASSWORD": password,
        }
    return {
        "DATABASE_URL": url,
        "PGHOST": parse_qs(parts.query)["host"][0],
        "PGUSER": parts.username or "",
        "PGPASSWORD": password,
        "PGDATABASE": parts.path.lstrip("/"),
    }
