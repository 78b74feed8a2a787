"""A whole Punctual as a user starts it: ``manage.py up`` in a directory of its own."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
#: What a developer's or a test run's environment must not lend to it.
FOREIGN = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ENCRYPTION_KEYS")


@dataclass
class Installation:
    """One data directory, and what runs on it."""

    data_dir: Path
    port: int
    receiver_port: int
    key: str = field(default_factory=lambda: f"e2e-{secrets.token_hex(16)}")
    process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        """Run ``up`` and wait until it says that it is ready."""
        self.data_dir.mkdir(exist_ok=True)
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "up"],
                env=self._environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=ROOT,
            )
        until(self._ready_or_ended, timeout=180.0)
        assert self.process.poll() is None, self.output

    def stop(self) -> int:
        """Stop it as Ctrl-C does; return the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(300)

    def kill(self) -> None:
        """End it if it still runs; its children die with it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def processes(self) -> list[dict[str, Any]]:
        """Return what ``ps --json`` lists."""
        listed = self.manage("ps", "--json")
        assert listed.returncode == 0, listed.stderr
        found: list[dict[str, Any]] = json.loads(listed.stdout)["processes"]
        return found

    def manage(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a command on this data directory to its end."""
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self._environment({}),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command on this data directory; what it says is thrown away."""
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self._environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Call the API with the owner's key; return the document, AssertionError if refused."""
        status, document = self.answer(method, path, body, **headers)
        assert status < 300, (method, path, status, document)
        return document

    def answer(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Call the API with the owner's key; return status and document."""
        sent = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": secrets.token_hex(8),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        text = json.dumps(body) if body else None

        def answered() -> tuple[int, Any] | None:
            """Return the answer; None from a server that is busy, which clients ask again."""
            found = _exchange(self.port, method, path, text, sent)
            return found if found[0] != 503 else None

        found = until(answered, every=0.2)
        assert found is not None
        return found

    def received(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return what the receiver got on the path below the own address, oldest first."""
        wanted = urlencode({"limit": 1000, "path": path, **query})
        found = self.call("GET", f"/v1/receiver/requests?{wanted}")
        listed: list[dict[str, Any]] = found["requests"]
        return listed[::-1]

    def target(self, path: str) -> str:
        """Return the URL of a path below the own address."""
        return str(self.call("GET", "/v1/receiver")["url"]).rstrip("/") + path

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self.data_dir / "up.log"

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        return {
            **kept,
            "DATA_DIR": str(self.data_dir),
            "PORT": str(self.port),
            "RECEIVER_PORT": str(self.receiver_port),
            "BOOTSTRAP_API_KEY": self.key,
            **extra,
        }

    def _ready_or_ended(self) -> bool:
        assert self.process is not None
        said = self.output
        ready = "Punctual is ready" in said or '"installation.ready"' in said
        return ready or self.process.poll() is not None


@contextmanager
def installation(data_dir: Path) -> Iterator[Installation]:
    """Give an installation on free ports; at the end of the block nothing of it runs."""
    port, receiver_port = _free_ports(2)
    made = Installation(data_dir, port, receiver_port)
    try:
        yield made
    except BaseException:
        sys.stdout.write(made.output[-8000:] if made.process else "")
        raise
    finally:
        made.kill()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _exchange(
    port: int, method: str, path: str, body: str | None, headers: dict[str, str]
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None
    finally:
        connection.close()
