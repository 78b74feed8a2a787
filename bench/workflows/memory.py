"""The most memory that each process has, looked at while something runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.processes import usage

_LOOK_SECONDS = 0.5


class Peaks:
    """Bytes at the begin and at most, by process: ``worker 1``, ``worker 2``, ``postgresql``."""

    def __init__(self, kinds: Mapping[int, str]) -> None:
        self._pids = named(kinds)
        self.before: dict[str, int] = {}
        self.most: dict[str, int] = {}

    def look(self) -> None:
        """Note what each has now, its children with it."""
        found = usage(self._pids).memory_bytes
        self.before = self.before or found
        for name, used in found.items():
            self.most[name] = max(used, self.most.get(name, 0))

    def as_json(self) -> dict[str, dict[str, int]]:
        """Return the figures for the stored result."""
        return {"before_bytes": self.before, "peak_bytes": self.most}


def named(kinds: Mapping[int, str]) -> dict[int, str]:
    """Return a name of its own for each process; several of a kind are numbered."""
    found: dict[int, str] = {}
    for kind in sorted(set(kinds.values())):
        pids = sorted(pid for pid, one in kinds.items() if one == kind)
        for number, pid in enumerate(pids, start=1):
            found[pid] = kind if len(pids) == 1 else f"{kind} {number}"
    return found


@contextmanager
def peaks(kinds: Mapping[int, str]) -> Iterator[Peaks]:
    """Look twice a second for the time of the block."""
    found, over = Peaks(kinds), threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            found.look()

    found.look()
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found.look()
