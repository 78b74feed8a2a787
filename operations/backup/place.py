"""Where a backup is restored to: the embedded database of a data directory, or a given server.

Both are empty databases when the block begins. The embedded one is made in a directory of its own.
It replaces the former database when all has gone well. Until then the former database is unchanged;
afterwards it stays beside as ``postgres.replaced``.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from launcher import local_state
from launcher.embedded import EmbeddedServer, Placement, base_of, place_servers
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.spawning import spawn_options
from shared.exceptions import Conflict
from shared.sql import statement

REPLACED = "replaced"
_SCRATCH = "postgres.restored"
_VALKEY = "valkey"


@dataclass(frozen=True, slots=True)
class Place:
    """A target; an empty ``url`` means the embedded database of the data directory."""

    data_dir: Path
    url: str = ""

    def is_empty(self) -> bool:
        """Return whether nothing is lost when a backup is restored here."""
        if self.url:
            with psycopg.connect(self.url) as session:
                return not session.execute(statement("backup/tables")).fetchall()
        return not (base_of(self.data_dir) / EmbeddedPostgres.folder).exists()

    def refuse_running(self) -> None:
        """Raise Conflict while processes of ours are connected to a given server."""
        if not self.url:
            return  # the run lock has refused them already
        with psycopg.connect(self.url) as session:
            names = [row[0] for row in session.execute(statement("backup/others"))]
        if names:
            raise Conflict(
                f"Still connected to this database: {', '.join(sorted(set(names)))}. Stop them.",
                code="running",
            )

    @contextmanager
    def emptied(self) -> Iterator[str]:
        """Yield the address of an empty database; the block's data stays in it."""
        if self.url:
            _empty(self.url)
            yield self.url
        else:
            with _embedded(self.data_dir) as url:
                yield url

    def put_secrets(self, secrets: dict[str, str], former: dict[str, Any]) -> None:
        """Put the backup's secrets into the data directory; keep the former ones beside."""
        path = self.data_dir / local_state.SECRETS_FILE
        found = local_state.load_secrets(self.data_dir)
        if former:
            local_state.write_private(path.with_name(f"{path.name}.{REPLACED}"), former)
        local_state.write_private(path, {"schema": 1, **found, **_given(secrets)})
        local_state.ensure_secrets(self.data_dir)


def _given(secrets: dict[str, str]) -> dict[str, str]:
    # A deployment without browser push has no key for it; ``ensure_secrets`` makes one.
    return {name: value for name, value in secrets.items() if value}


def _empty(url: str) -> None:
    with psycopg.connect(url) as session:
        session.execute(statement("backup/drop_all"))
        session.execute(statement("backup/create_public"))


@contextmanager
def _embedded(data_dir: Path) -> Iterator[str]:
    placement = place_servers(data_dir)
    # The passwords of the servers stay: the new database gets the existing one.
    server = EmbeddedPostgres(placement, local_state.ensure_secrets(data_dir))
    server.data = placement.base / _SCRATCH
    # An interrupted restore may have left it.
    shutil.rmtree(server.data, ignore_errors=True)
    with _serving(server) as url:
        yield url
    _take_place(placement, server.data)


@contextmanager
def _serving(server: EmbeddedServer) -> Iterator[str]:
    server.prepare()
    spec = server.process()
    with (server.placement.base / "logs" / "restore.log").open("ab") as output:
        process = subprocess.Popen(spec.argv, stdout=output, stderr=output, **spawn_options(spec))
    try:
        server.wait_ready()
        yield server.url
    finally:
        process.send_signal(spec.stop_signal)
        process.wait(spec.grace_seconds)


def _take_place(placement: Placement, restored: Path) -> None:
    for folder in (EmbeddedPostgres.folder, _VALKEY):
        former = placement.base / folder
        if former.exists():
            aside = former.with_name(f"{folder}.{REPLACED}")
            shutil.rmtree(aside, ignore_errors=True)
            former.rename(aside)
    restored.rename(placement.base / EmbeddedPostgres.folder)
