"""How much memory this machine, or the container that this runs in, has."""

from __future__ import annotations

import os
from pathlib import Path

#: Files with a container's limit, in versions 2 and 1 of control groups. Without a limit they hold
#: ``max``, or more than the machine has.
_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")


def memory_bytes(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the machine's memory in bytes, or the container's limit where that is less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_limits(groups)])


def _limits(groups: Path) -> list[int]:
    said = []
    for name in _LIMITS:
        try:
            said.append((groups / name).read_text(encoding="ascii").strip())
        except OSError:
            continue  # another version, or none
    return [int(limit) for limit in said if limit.isdecimal()]
