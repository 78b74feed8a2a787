"""The stable spread of a task's start within its jitter.

Called when an occurrence is materialized: nominal time plus this is the due time.
"""

from __future__ import annotations

import hashlib


def jitter_ms(task_id: str, jitter_seconds: float, next_gap_seconds: float | None) -> int:
    """Return how many milliseconds after its nominal time an occurrence of the task is due.

    The same share of the jitter for every occurrence of a task, evenly spread over tasks, below
    `jitter_seconds` and before the next occurrence (None: there is none).
    """
    spread = jitter_seconds if next_gap_seconds is None else min(jitter_seconds, next_gap_seconds)
    whole = int(spread * 1000)
    if whole <= 0:
        return 0
    digest = hashlib.sha256(f"jitter:{task_id}".encode()).digest()
    # Integer arithmetic keeps the result below the spread for every digest.
    return int.from_bytes(digest[:8], "big") * whole >> 64
