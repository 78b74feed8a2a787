"""The lock of a data directory: held as long as an ``up`` runs on it.

Taken by ``up``, asked by ``down``, ``ps`` and ``make clean`` (``python -m
launcher.run_lock DIR`` ends with 4 while it is held). The kernel frees it with its
holder, however that ends, so it is never stale.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

LOCK_FILE = "up.lock"
# A check takes the lock for an instant; a start must not mistake that for a running ``up``.
_QUESTION_SECONDS = 0.5


class AlreadyHeld(Exception):
    """Another process runs on this data directory; ``pid`` is 0 until it has written its own."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"held by pid {pid}")
        self.pid = pid


class RunLock:
    """A context manager that holds the lock of a data directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_FILE
        self._descriptor = -1

    def __enter__(self) -> RunLock:
        """Take the lock and write our pid into it; raise AlreadyHeld if another has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if not _take(descriptor, _QUESTION_SECONDS):
            os.close(descriptor)
            raise AlreadyHeld(_pid_in(self._path))
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder(directory: Path) -> int | None:
    """Return the pid that holds the lock, 0 until it has written it, None if the lock is free."""
    path = directory / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        return None if _take(descriptor, 0.0) else _pid_in(path)
    finally:
        os.close(descriptor)


def wait_free(directory: Path, timeout: float) -> bool:
    """Return whether the lock became free within ``timeout`` seconds."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while holder(directory) is not None:
        if time.monotonic() > deadline:
            return False
        pause.wait(0.05)
    return True


def _take(descriptor: int, patience: float) -> bool:
    pause = threading.Event()
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            pause.wait(0.02)
        else:
            return True


def _pid_in(path: Path) -> int:
    words = path.read_text(encoding="ascii").split()
    return int(words[0]) if words else 0


if __name__ == "__main__":
    sys.exit(0 if holder(Path(sys.argv[1])) is None else 4)
