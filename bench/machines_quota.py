"""A machine's share of the processor, by a control group: so that two have twice as much as one.

Everything of the stand shares the cores of one machine, which a single ``up`` can fill. Linux only;
version 1 and 2 of control groups.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.chaos.hosts import PREFIX

#: Where groups are made: below the hierarchy of the processor (1), or the only one (2).
ROOTS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
#: Short, so that a process whose share is used up waits milliseconds, not a tenth of a second.
_PERIOD_US = 10_000
_V1, _V2 = "cpu.cfs_quota_us", "cpu.max"
_GONE_SECONDS = 5.0


class Quota:
    """One machine's group; free until it is limited."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def take(self, pids: Iterable[int]) -> None:
        """Take processes in; what they start later belongs to it, too."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                (self._directory / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def limit(self, cores: float) -> None:
        """Allow ``cores`` cores, together."""
        share = round(cores * _PERIOD_US)
        if (self._directory / _V1).exists():
            self._set("cpu.cfs_period_us", str(_PERIOD_US))
            self._set(_V1, str(share))
        else:
            self._set(_V2, f"{share} {_PERIOD_US}")

    def free(self) -> None:
        """Allow what there is."""
        if (self._directory / _V1).exists():
            self._set(_V1, "-1")
        else:
            self._set(_V2, "max")

    def _set(self, name: str, value: str) -> None:
        (self._directory / name).write_text(value, encoding="ascii")


@contextmanager
def quota(name: str) -> Iterator[Quota | None]:
    """Make a group of the name, yield it, remove it when its processes have ended.

    None where this machine lets us make none.
    """
    directory = _made(f"{PREFIX}{name}")
    try:
        yield Quota(directory) if directory else None
    finally:
        if directory:
            _remove(directory)


def _made(name: str) -> Path | None:
    for root in ROOTS:
        directory = root / name
        try:
            directory.mkdir(exist_ok=True)  # a killed bench has left one
        except OSError:
            continue
        if (directory / _V1).exists() or (directory / _V2).exists():
            return directory
        directory.rmdir()
    return None


def _remove(directory: Path) -> None:
    """Remove a group; the kernel needs a moment after the end of its last process."""
    deadline = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            directory.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            threading.Event().wait(0.05)
        else:
            return
