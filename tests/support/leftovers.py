"""What a test session would leave running: processes that it started and no test has ended.

A process whose parent has ended belongs to its nearest subreaper, which every pytest process is
from its start: so what a test leaves stays in the family, also when it leads a session of its own.
"""

from __future__ import annotations

import ctypes
import os
from collections import defaultdict
from pathlib import Path

from tests.support.liveness import lives
from tests.support.waiting import until

_PR_SET_CHILD_SUBREAPER = 36
#: For what is on its way out when the session ends.
_PATIENCE_SECONDS = 120.0
#: Python's own helper of shared memory; it ends when the process that started it has ended.
_OF_PYTHON = "multiprocessing.resource_tracker"


def adopt_orphans() -> None:
    """Let this process be the parent of every descendant that loses its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def leftovers(patience: float = _PATIENCE_SECONDS) -> list[str]:
    """Return the descendants that go on living, each by pid and command line."""
    try:
        until(lambda: not _family(), timeout=patience)
    except AssertionError:
        return [f"{pid}: {_command(pid)}" for pid in _family()]
    return []


def _family() -> list[int]:
    """Return the living descendants of this process."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry)].append(int(entry.name))
    waiting, found = [os.getpid()], []
    while waiting:
        born = children[waiting.pop()]
        waiting += born
        found += [child for child in born if lives(child) and _OF_PYTHON not in _command(child)]
    return sorted(found)


def _parent(process: Path) -> int:
    try:
        # The name, in parentheses, may hold anything.
        words = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return 0  # it has ended meanwhile
    return int(words.split()[1])


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "has ended meanwhile"
    return b" ".join(words).decode(errors="replace").strip()
