"""The installation that a report measures: one that runs already, or one of its own.

Its own starts with ``manage.py up`` on a free port with a scratch data directory and is stopped
by SIGTERM to that very process. The receiver is a process of its own too, with a ledger.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from launcher import local_state
from operations.proof.campaign import Receiver
from shared.unix_http import UnixConnection

CHECKOUT = Path(__file__).resolve().parent.parent
START_SECONDS = 180.0
STOP_SECONDS = 60.0
KILLABLE = ("worker", "scheduler", "recorder")
#: Where each running receiver of ours takes orders, by its URL.
_CONTROLS: dict[str, Path] = {}


class InstallationError(Exception):
    """The installation cannot be started, reached or asked."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the product is and how to ask it about its processes."""

    base_url: str
    api_key: str
    environment: dict[str, str] = field(repr=False)
    #: The ``up`` process, where this report started it.
    supervisor: int | None = None

    @property
    def database_url(self) -> str:
        """Where its PostgreSQL listens."""
        runtime = local_state.load_runtime(Path(self.environment["DATA_DIR"]))
        address: str = runtime["database_url"]
        return address

    def processes(self) -> list[tuple[str, int]]:
        """Return kind and pid of every process, as ``manage.py ps --json`` tells them."""
        done = subprocess.run(
            [sys.executable, "manage.py", "ps", "--json"],
            cwd=CHECKOUT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise InstallationError(f"manage.py ps failed: {done.stderr[-500:]}")
        listed = json.loads(done.stdout)["processes"]
        return [(process["kind"], int(process["pid"])) for process in listed]

    def kinds(self) -> dict[int, str]:
        """Return the kind of each process by pid, the supervisor included where it is known."""
        found = {pid: kind for kind, pid in self.processes()}
        if self.supervisor is not None:
            found.setdefault(self.supervisor, "supervisor")
        return found

    def pids(self, kind: str) -> list[int]:
        """Return the processes of a kind; InstallationError when there is none."""
        found = [pid for named, pid in self.processes() if named == kind]
        if not found:
            raise InstallationError(f"no process of kind {kind} runs")
        return found

    def signal_one(self, kind: str, number: signal.Signals) -> int:
        """Send a signal to the first process of the kind and return its pid."""
        if kind not in KILLABLE:
            raise ValueError(f"only {', '.join(KILLABLE)} may be stopped, not {kind}")
        pid = self.pids(kind)[0]
        os.kill(pid, number)
        return pid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which installation to measure."""
    parser.add_argument("--start", action="store_true", help="start an installation of its own")
    parser.add_argument("--base-url", default="http://127.0.0.1:8000")
    parser.add_argument("--api-key", default=os.environ.get("PUNCTUAL_API_KEY", ""))
    parser.add_argument("--data-dir", help="data directory of the running installation (for ps)")
    parser.add_argument("--keep", action="store_true", help="keep the scratch directory")


def require_start(options: argparse.Namespace) -> None:
    """Refuse a running installation where a report needs one that it has set up itself."""
    if not options.start:
        raise InstallationError("this report needs an installation of its own: give --start")


@contextmanager
def opened(options: argparse.Namespace, **environment: str) -> Iterator[Installation]:
    """Yield the installation that the options name; stop it afterwards if it was started here."""
    if options.start:
        with started(keep=options.keep, **environment) as installation:
            yield installation
        return
    if not options.api_key:
        raise InstallationError("give --api-key (or PUNCTUAL_API_KEY), or --start")
    known = dict(os.environ)
    if options.data_dir:
        known["DATA_DIR"] = str(Path(options.data_dir).resolve())
    yield Installation(options.base_url, options.api_key, known)


@contextmanager
def started(
    command: tuple[str, ...] = ("manage.py", "up"), /, *, keep: bool = False, **environment: str
) -> Iterator[Installation]:
    """Start ``manage.py up`` in a scratch directory, yield it when ready, stop it at the end."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-bench-"))
    # As root, the account that runs the embedded servers has to pass through.
    scratch.chmod(0o711)
    api_key = f"bench-{secrets.token_urlsafe(32)}"
    port = free_port()
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "HOST", "PUBLIC_URL")
    }
    known |= {
        "PORT": str(port),
        "RECEIVER_PORT": str(free_port()),
        "DATA_DIR": str(scratch / "data"),
        "BOOTSTRAP_API_KEY": api_key,
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "PYTHONUNBUFFERED": "1",
    } | environment
    log = scratch / "up.log"
    base_url = f"http://{known.get('HOST', '127.0.0.1')}:{port}"
    failed = True
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=CHECKOUT,
            env=known,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_ready(base_url, process, log)
            yield Installation(base_url, api_key, known, process.pid)
            failed = False
        finally:
            stop(process, STOP_SECONDS)
            if keep or failed:
                print(f"kept: {scratch} (log of the installation: {log})", flush=True)
            else:
                shutil.rmtree(scratch, ignore_errors=True)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stop(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Stop a process started here by SIGTERM, after the given time by SIGKILL."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        print(f"process {process.pid} did not stop within {seconds:.0f} s, killed", flush=True)
        process.kill()
        process.wait()


def _wait_ready(base_url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    address = urlsplit(base_url)
    deadline = time.monotonic() + START_SECONDS
    told = "no answer"
    while time.monotonic() < deadline:
        if process.poll() is not None:
            tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
            raise InstallationError(f"up ended with {process.returncode}:\n{tail}")
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            told = f"{answer.status} {answer.read(500)!r}"
            if answer.status == 200:
                return
        except OSError as error:
            told = str(error)
        finally:
            connection.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.25)
    tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    raise InstallationError(f"not ready after {START_SECONDS:.0f} s ({told}):\n{tail}")


@contextmanager
def receiver(secret: str = "", port: int = 0) -> Iterator[Receiver]:
    """Start a receiver with a fresh ledger, yield it, stop it; the ledger is removed at the end."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-ledger-"))
    ledger = scratch / "ledger.jsonl"
    control = scratch / "receiver.sock"
    command = [sys.executable, "-m", "receiver", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--ledger", str(ledger), "--control", str(control)],
        cwd=CHECKOUT,
        # The secret travels by environment: a command line is readable by every user.
        env={**os.environ, "RECEIVER_SECRET": secret},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        line = process.stdout.readline().decode() if process.stdout else ""
        if "http://" not in line:
            raise InstallationError("the receiver did not start")
        made = Receiver(line.split()[-1], ledger)
        _CONTROLS[made.url] = control
        yield made
        del _CONTROLS[made.url]
    finally:
        stop(process, 15.0)
        if process.stdout:
            process.stdout.close()
        shutil.rmtree(scratch, ignore_errors=True)


def close_connections(receiver_url: str) -> None:
    """Let a receiver of ours close what its callers keep open."""
    connection = UnixConnection(_CONTROLS[receiver_url], 10.0)
    try:
        connection.request("DELETE", "/connections")
        connection.getresponse().read()
    finally:
        connection.close()
