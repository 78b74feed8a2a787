"""PostgreSQL and Valkey for a peer: the servers that ``up`` runs, from the same wheels.

Set up alike and durable as there, reached by unix sockets as there.
"""

from __future__ import annotations

import shutil
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
from launcher.spawning import spawn_options
from scheduler_site.broker import broker_url

POSTGRESQL, VALKEY = "postgresql", "valkey"
#: They are reached by this user's processes alone, and live for one turn.
_SECRETS = {"postgres_password": "peers-postgres", "valkey_password": "peers-valkey"}
_STOP_SECONDS = 30.0


@dataclass(slots=True)
class Servers:
    """Running servers: their processes, URLs, and the environment by which programs find them."""

    kinds: dict[int, str] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def running(data_dir: Path, wanted: Sequence[str]) -> Iterator[Servers]:
    """Start the servers named, yield them when they answer, stop them and remove their data."""
    with _told():
        placement = place_servers(data_dir)
    made: dict[str, EmbeddedServer] = {
        POSTGRESQL: EmbeddedPostgres(placement, _SECRETS),
        VALKEY: EmbeddedValkey(placement, _SECRETS),
    }
    found = Servers()
    with ExitStack() as stack:
        for directory in (placement.base, placement.sockets):
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
        with _told():
            for kind in wanted:
                process = stack.enter_context(_running(made[kind]))
                found.kinds[process.pid] = kind
            for kind in wanted:
                made[kind].wait_ready()
                found.urls[kind] = made[kind].url
                found.environment |= environment_of(kind, made[kind].url)
        yield found


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (EmbeddedError, PrivilegeError) as error:
        raise CouldNotRunError(str(error)) from error


@contextmanager
def _running(server: EmbeddedServer) -> Iterator[subprocess.Popen[bytes]]:
    server.prepare()
    spec = server.process()
    with (server.placement.base / f"{spec.name}.out").open("ab") as output:
        process = subprocess.Popen(spec.argv, stdout=output, stderr=output, **spawn_options(spec))
    try:
        yield process
    finally:
        process.send_signal(spec.stop_signal)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
