"""A primary and its standby outside of the installation, and the failover from one to the other.

The stand's database is replicated synchronously, so that what was answered is on both. The
installation knows both addresses and takes the one that may be written.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import psycopg

from bench import installation
from bench.chaos.experiment import Experiment
from bench.chaos.probed import probed
from bench.chaos.site import Site, fault
from launcher import local_state
from launcher.embedded import (
    environment_of_servers,
    place_servers,
    remove_sockets,
    run_as,
)
from launcher.embedded_postgres import ROLE, EmbeddedPostgres
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_STOP_SECONDS = 30.0
#: Between the end of the primary and the promotion: an operator has to find out and decide.
_DECISION_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ReplicatedSite(Site):
    """A site whose database has a standby."""

    primary: subprocess.Popen[bytes]
    standby_url: str


@contextmanager
def replicated() -> Iterator[Site]:
    """Start a primary, a synchronous standby, and an installation that knows both."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-pair-"))
    scratch.chmod(0o711)
    secrets = local_state.ensure_secrets(scratch / "secrets")
    primary = EmbeddedPostgres(place_servers(scratch / "primary"), secrets)
    standby = EmbeddedPostgres(place_servers(scratch / "standby"), secrets)
    with ExitStack() as running:
        running.callback(shutil.rmtree, scratch, ignore_errors=True)
        first = running.enter_context(_running(primary))
        _copy(primary, standby, secrets["postgres_password"])
        running.enter_context(_running(standby))
        _follow_synchronously(primary.url)
        product = running.enter_context(
            installation.started(
                DATABASE_URL=both(primary.url, standby.url),
                SCHEDULERS="2",
                WORKERS="2",
                RECORDERS="2",
            )
        )
        yield ReplicatedSite(product, first, standby.url)


def both(first: str, second: str) -> str:
    """Return the URL of two servers of one cluster, of which one may be written."""
    parts = urlsplit(first)
    hosts = [parse_qs(urlsplit(url).query)["host"][0] for url in (first, second)]
    query = urlencode({"host": ",".join(hosts), "target_session_attrs": "read-write"})
    return urlunsplit(parts._replace(query=query))


@contextmanager
def _running(server: EmbeddedPostgres) -> Iterator[subprocess.Popen[bytes]]:
    copied = (server.data / "PG_VERSION").exists()
    server.prepare()
    with (server.data / "pg_hba.conf").open("a", encoding="utf-8") as handle:
        handle.write("local replication all scram-sha-256\n")
    spec = server.process()
    account = spec.account
    process = subprocess.Popen(
        spec.argv,
        env=spec.environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **(account.spawn_options() if account else {}),
    )
    try:
        # A standby has the database from its copy; a first start makes it.
        server.wait_ready()
        yield process
    finally:
        process.send_signal(spec.stop_signal)
        installation.stop(process, _STOP_SECONDS)
        if copied:
            remove_sockets(server.placement)


def _copy(primary: EmbeddedPostgres, standby: EmbeddedPostgres, password: str) -> None:
    program = Path(primary.process().argv[0]).with_name("pg_basebackup")
    directory = standby.data
    environment = {**environment_of_servers(), "PGPASSWORD": password}
    account = standby.placement.account
    if account:
        os.chown(standby.placement.base, account.uid, account.gid)
    run_as(
        account,
        [
            str(program),
            f"--pgdata={directory}",
            f"--host={primary.placement.sockets}",
            f"--username={ROLE}",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--wal-method=stream",
            "--no-sync",
        ],
        environment,
    )


def _follow_synchronously(url: str) -> None:
    pause = threading.Event()
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        session.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + _STOP_SECONDS
        while not session.execute(
            "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'"
        ).fetchall():
            if time.monotonic() > deadline:
                raise installation.InstallationError("the standby does not follow")
            pause.wait(0.05)


async def _fail_over(site: Site, window: Window) -> tuple[Fault, ...]:
    assert isinstance(site, ReplicatedSite)  # noqa: S101 - of this stand
    began = time.monotonic()
    site.primary.send_signal(signal.SIGKILL)
    await asyncio.to_thread(site.primary.wait)
    await asyncio.sleep(_DECISION_SECONDS)
    async with await psycopg.AsyncConnection.connect(site.standby_url, autocommit=True) as session:
        await session.execute("SELECT pg_promote()")
    return (fault("failover", seconds=time.monotonic() - began),)


EXPERIMENTS: tuple[Experiment, ...] = (
    probed(
        _fail_over,
        stand=replicated,
        id="database-failed-over",
        fault="the database's primary is lost and its standby takes over",
        how="SIGKILL of the primary, promotion of a synchronous standby 3 s later",
        invariant="every 201 is on the standby; no token comes twice; nothing is started by hand",
        seconds=30.0,
        latest_start_seconds=20.0,
    ),
)
