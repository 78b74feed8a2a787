"""The receiver as the report sees it: its address, and the calls that have arrived."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from bench.installation import CHECKOUT, InstallationError, stop
from launcher.spawning import ProcessSpec, spawn_options

#: Of one arrival: the number of the call, and when it was complete (Unix nanoseconds).
Arrival = tuple[int, int]

_ANSWER_SECONDS = 60.0
_STOP_SECONDS = 15.0


class Target:
    """A running receiver; OSError and http.client.HTTPException when it does not answer."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=_ANSWER_SECONDS
        )

    def count(self) -> int:
        """Return how many different calls have arrived."""
        return int(self._ask("GET", "/count"))

    def arrivals(self) -> list[Arrival]:
        """Return every arrival in order."""
        return parse_arrivals(self._ask("GET", "/arrivals").decode())

    def reset(self) -> None:
        """Forget what has arrived."""
        self._ask("POST", "/reset")

    def close(self) -> None:
        """Close the connection by which this process asks."""
        self._connection.close()

    def _ask(self, method: str, path: str) -> bytes:
        try:
            self._connection.request(method, path)
            return self._connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            # A connection that waits for an answer takes no further request: the next one opens it
            # anew.
            self._connection.close()
            raise


def parse_arrivals(text: str) -> list[Arrival]:
    """Return the arrivals of lines "number ns"."""
    pairs = (line.split() for line in text.splitlines())
    return [(int(number), int(moment)) for number, moment in pairs]


def await_calls(
    target: Target, count: int, *, stall_seconds: float, look_seconds: float = 0.05
) -> int:
    """Return how many calls came, when all have, or none has for ``stall_seconds``."""
    pause = threading.Event()
    seen, changed = -1, time.monotonic()
    while seen < count and time.monotonic() - changed < stall_seconds:
        found = target.count()
        if found != seen:
            seen, changed = found, time.monotonic()
        pause.wait(look_seconds)
    return seen


@contextmanager
def running(address: str = "127.0.0.1") -> Iterator[Target]:
    """Start a receiver on the address, yield it, stop it; InstallationError when it does not."""
    argv = (sys.executable, "-m", "bench.peers.receiver", "--host", address)
    spec = ProcessSpec("receiver", "receiver", argv, dict(os.environ))
    process = subprocess.Popen(
        spec.argv, cwd=CHECKOUT, stdout=subprocess.PIPE, **spawn_options(spec)
    )
    try:
        line = process.stdout.readline().decode().strip() if process.stdout else ""
        if not line.startswith("http://"):
            raise InstallationError(f"the receiver did not start on {address}")
        target = Target(line, process.pid)
        try:
            yield target
        finally:
            target.close()
    finally:
        stop(process, _STOP_SECONDS)
        if process.stdout:
            process.stdout.close()
