"""Lets a process's niceness hold for its children that open sessions of their own.

Linux may share processors out between sessions first ("autogroup", sched(7)): a niceness counts
within its session only, and each session weighs the same. Every process of PostgreSQL opens one,
and would weigh as much as all workers together. The supervisor uses this for processes that have a
niceness.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

_PROC = Path("/proc")
_LEAST = 19
#: Sessions to a database live for long; a new one may go without for a moment.
_LOOK_SECONDS = 2.0
#: The kernel allows ten changes a second to any user but root.
_AGAIN_SECONDS = 0.15


async def hold_back(parent: int, niceness: int, proc: Path = _PROC) -> None:
    """Give the sessions that children of a process lead its niceness, until cancelled.

    The niceness is relative to this process's session. Return where the kernel does not share
    processors by session, or forbids the change.
    """
    if not _shares_by_session(proc):
        return
    wanted = min(_LEAST, _niceness_of(proc / "self") + niceness)
    told: set[int] = set()
    while True:
        leading = {child for child in _children(parent, proc) if _leads(child)}
        told &= leading
        try:
            for child in sorted(leading - told):
                _tell(proc / str(child), wanted)
                told.add(child)
        except BlockingIOError:
            await asyncio.sleep(_AGAIN_SECONDS)
            continue
        except PermissionError:
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _shares_by_session(proc: Path) -> bool:
    try:
        enabled = (proc / "sys/kernel/sched_autogroup_enabled").read_text(encoding="ascii")
    except OSError:
        return False
    return enabled.strip() == "1"


def _niceness_of(process: Path) -> int:
    """Return the niceness of a process's session; the kernel shows ``/autogroup-25 nice 0``.

    The kernel shows nothing for a session that is older than the first autogroup.
    """
    shown = (process / "autogroup").read_text(encoding="ascii").split()
    return int(shown[-1]) if shown else 0


def _children(parent: int, proc: Path) -> list[int]:
    try:
        # Children of the first thread only; PostgreSQL has no other thread.
        found = (proc / f"{parent}/task/{parent}/children").read_text(encoding="ascii")
    except OSError:  # it has ended
        return []
    return [int(child) for child in found.split()]


def _leads(process: int) -> bool:
    """Return whether it leads a session; a child that was just forked is still in ours."""
    try:
        return os.getsid(process) == process
    except ProcessLookupError:
        return False


def _tell(process: Path, niceness: int) -> None:
    try:
        (process / "autogroup").write_text(str(niceness), encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return  # it has ended
