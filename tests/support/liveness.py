"""Whether a process of the test still runs."""

from __future__ import annotations

import os
from pathlib import Path


def lives(pid: int) -> bool:
    """Return whether the process runs; one that nobody has reaped yet is dead, too."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "\nState:\tZ" not in status
