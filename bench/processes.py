"""Processor time and memory of the product's processes, from /proc (Linux).

Each process counts for the nearest ancestor that ``manage.py ps`` names, so children such as
database sessions belong to their server.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
_END_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Stat:
    """One line of /proc/<pid>/stat; times in clock ticks."""

    pid: int
    parent: int
    own_ticks: int
    reaped_ticks: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor seconds and bytes of each kind at one moment."""

    cpu_seconds: dict[str, float]
    memory_bytes: dict[str, int]
    counts: dict[str, int]

    def cpu_since(self, earlier: Usage) -> dict[str, float]:
        """Return the seconds used since; a restarted process counts from its start."""
        return {
            kind: max(0.0, round(seconds - earlier.cpu_seconds.get(kind, 0.0), 3))
            for kind, seconds in sorted(self.cpu_seconds.items())
        }


def parse_stat(text: str) -> Stat:
    """Return the fields needed; the name in parentheses may hold spaces and parentheses."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(
        pid=int(head.split("(", 1)[0]),
        parent=int(fields[1]),
        own_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
    )


def snapshot() -> dict[int, Stat]:
    """Return every process that can be read now."""
    found = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = parse_stat((entry / "stat").read_text(encoding="utf-8", errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended between the listing and the reading
        found[stat.pid] = stat
    return found


def kind_of(pid: int, kinds: dict[int, str], stats: dict[int, Stat]) -> str | None:
    """Return the kind of the process or of its nearest named ancestor."""
    seen: set[int] = set()
    while pid not in seen:
        if pid in kinds:
            return kinds[pid]
        seen.add(pid)
        stat = stats.get(pid)
        if stat is None:
            return None
        pid = stat.parent
    return None


def descendants(pid: int) -> list[int]:
    """Return the process and all that descend from it, parents first."""
    stats = snapshot()
    found = [pid] if pid in stats else []
    for parent in found:
        found += [stat.pid for stat in stats.values() if stat.parent == parent]
    return found


def kill(roots: Iterable[int]) -> list[int]:
    """Kill these processes and all that descend from them with SIGKILL; return which they were.

    None of them runs any more when this returns: the kernel ends a process some time after it has
    taken the signal, and only its own parent could wait for that in the ordinary way. Raises
    TimeoutError when one has not ended after 30 seconds.
    """
    pids = list(dict.fromkeys(pid for root in roots for pid in descendants(root)))
    with ExitStack() as handles:
        ending = [handle for pid in pids if (handle := _handle(pid, handles)) is not None]
        for handle in ending:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        deadline = time.monotonic() + _END_SECONDS
        while ending:
            # A handle is readable once its process has ended.
            ended, _, _ = select.select(ending, [], [], max(0.0, deadline - time.monotonic()))
            if not ended:
                raise TimeoutError(f"{len(ending)} of the killed processes {pids} did not end")
            ending = [handle for handle in ending if handle not in ended]
    return pids


def _handle(pid: int, handles: ExitStack) -> int | None:
    """Return a handle on the process, which never comes to mean another one; None if it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    handles.callback(os.close, handle)
    return handle


def alive(pids: Collection[int]) -> list[int]:
    """Return those that run; a zombie, whose parent has not read its end, does not."""
    stats = snapshot()
    return [pid for pid in pids if pid in stats and not _is_zombie(pid)]


def _is_zombie(pid: int) -> bool:
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def usage(kinds: dict[int, str]) -> Usage:
    """Return what the named processes and their descendants have used so far."""
    stats = snapshot()
    ticks: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for pid, stat in stats.items():
        kind = kind_of(pid, kinds, stats)
        if kind is None:
            continue
        # What the supervisor has reaped was counted for its kind while it lived.
        ticks[kind] += stat.own_ticks + (stat.reaped_ticks if kind != "supervisor" else 0)
        memory[kind] += memory_of(pid)
        counts[kind] += 1
    return Usage({kind: value / TICKS for kind, value in ticks.items()}, dict(memory), dict(counts))


def memory_of(pid: int) -> int:
    """Return the proportional share of memory in bytes, 0 for a process that has ended."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
