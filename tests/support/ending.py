"""Waiting for the end of processes that are not our children, by the kernel's own event."""

from __future__ import annotations

import os
import select


def has_ended(pid: int, timeout: float = 120.0) -> bool:
    """Wait until the process has ended; say whether it did within ``timeout`` seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout * 1000))
    finally:
        os.close(descriptor)
