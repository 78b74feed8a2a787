"""HTTP over a socket file of the data directory, for questions between processes of one machine.

The kernel limits the path of a socket to 107 bytes, and data directories may be longer. Both sides
name the file through a descriptor of its directory.
"""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MODE = 0o600


class UnixConnection(http.client.HTTPConnection):
    """A client connection to a socket file."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect; OSError where nothing listens."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with _short_name(self._path) as name:
            self.sock.connect(name)


def listener(path: Path) -> socket.socket:
    """Return a listening socket that only its owner may connect to; replace an old file."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Before the file exists, so that it never has another mode.
        os.fchmod(made.fileno(), _MODE)
        with _short_name(path) as name:
            made.bind(name)
        made.listen()
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


@contextmanager
def _short_name(path: Path) -> Iterator[str]:
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
