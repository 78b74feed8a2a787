"""Punctual's own processes as real subprocesses on the test database, for tests of lifecycles.

Every process is started by its command, as the supervisor does it; what is left at the end of a
test is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from tests.support.loops import LOOPS_PASSWORD, LOOPS_ROLE
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
ALLOWED_NETWORKS = "127.0.0.0/8"
_WITHOUT_DATABASE = ("worker", "receiver")
_LOOPS = ("scheduler", "recorder")


@dataclass
class Process:
    """One running command and what it has written."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return its lines, which are JSON where it was started with LOG_JSON."""
        return [json.loads(line) for line in self.output.splitlines()]

    def ask_to_stop(self) -> None:
        """Ask it to stop as the supervisor does."""
        self.popen.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 120.0) -> int:
        """Ask it to stop, wait for its end, return its exit code."""
        self.ask_to_stop()
        return self.popen.wait(timeout)

    def kill(self) -> None:
        """End it as a crash would."""
        self.popen.kill()
        self.popen.wait()


@dataclass
class Processes:
    """Starts processes on one database and one Redis."""

    directory: Path
    redis_url: str
    extra: dict[str, str] = field(default_factory=dict)
    started: list[Process] = field(default_factory=list)

    def start(self, kind: str, *arguments: str, **environment: str) -> Process:
        """Start ``run_<kind>``; it may take a moment until it works."""
        name = f"{kind}-{len(self.started) + 1}"
        log = self.directory / f"{name}.log"
        own = {
            "DJANGO_SETTINGS_MODULE": "scheduler_site.settings",
            "DATABASE_URL": _address_of(kind),
            "REDIS_URL": self.redis_url,
            "DATA_DIR": str(self.directory),
            "PROCESS_KIND": kind,
            "PROCESS_NAME": name,
            "PYTHONUNBUFFERED": "1",
            "WEBHOOK_ALLOWED_NETWORKS": ALLOWED_NETWORKS,
        }
        command = [sys.executable, str(ROOT / "manage.py"), f"run_{kind}", *arguments]
        with log.open("wb") as output:
            popen = subprocess.Popen(
                command,
                env={**os.environ, **own, **self.extra, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        process = Process(name, popen, log)
        self.started.append(process)
        return process

    def receiver(self) -> Receiver:
        """Start a test receiver with a ledger of its own and wait for its port."""
        ledger = self.directory / f"ledger-{len(self.started) + 1}.jsonl"
        process = self.start("receiver", "--port", "0", "--ledger", str(ledger))
        line = until(lambda: process.output.strip())
        return Receiver(int(line.rsplit(":", 1)[1]), ledger)

    def denied(self) -> list[str]:
        """Return the lines in which PostgreSQL refused a statement to a process."""
        return [
            f"{process.name}: {line}"
            for process in self.started
            for line in process.output.splitlines()
            if "permission denied" in line or "must be owner" in line
        ]

    def end(self) -> None:
        """Kill what still runs."""
        for process in self.started:
            process.kill()


@dataclass(frozen=True)
class Receiver:
    """The receiver's address and its ledger: one line per request, before it is answered."""

    port: int
    ledger: Path

    @property
    def host(self) -> str:
        """The destination that it is."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def lines(self, path: str = "") -> list[dict[str, Any]]:
        """Return the requests whose path begins so, in order of their arrival."""
        text = self.ledger.read_text() if self.ledger.exists() else ""
        found = [json.loads(line) for line in text.splitlines()]
        return [line for line in found if line["path"].startswith(path)]


def database_url() -> str:
    """Return the URL of the database that this test uses, as its owner."""
    return _url(connection.settings_dict["USER"], connection.settings_dict["PASSWORD"])


def loops_database_url() -> str:
    """Return the URL by which the loops log in, as they do in an installation."""
    return _url(LOOPS_ROLE, LOOPS_PASSWORD)


def _address_of(kind: str) -> str:
    if kind in _WITHOUT_DATABASE:
        return ""
    return loops_database_url() if kind in _LOOPS else database_url()


def _url(role: str, word: str) -> str:
    parts = connection.settings_dict
    user, password = quote(role, safe=""), quote(word, safe="")
    host = quote(parts["HOST"], safe="")
    return f"postgresql://{user}:{password}@/{parts['NAME']}?host={host}&port={parts['PORT']}"


@contextmanager
def processes(directory: Path, redis_url: str | None = None) -> Iterator[Processes]:
    """Run a block with processes; at its end none is left."""
    running = Processes(directory, redis_url or settings.REDIS_URL)
    try:
        yield running
        assert running.denied() == []
    except BaseException:
        for process in running.started:
            sys.stdout.write(f"--- {process.name} ---\n{process.output[-4000:]}\n")
        raise
    finally:
        running.end()
