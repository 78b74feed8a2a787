"""The stable spread of a task's start within its jitter.

Called when an occurrence is materialized: nominal time plus this is the due time. All code that
shows a coming instant calls it, too, so that it names the time at which the task really starts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Any

from tasks.schedules.base import Spec

#: Number of instants to search for the shortest gap, to put the jitter into words.
_GAPS_LOOKED_AT = 8


def jitter_ms(task_id: str, jitter_seconds: float, next_gap_seconds: float | None) -> int:
    """Return how many milliseconds after its nominal time an occurrence of the task is due.

    The same share of the jitter for every occurrence of a task, evenly spread over tasks, below
    `jitter_seconds` and before the next occurrence (None: there is none).
    """
    whole = int(_spread(jitter_seconds, next_gap_seconds) * 1000)
    if whole <= 0:
        return 0
    digest = hashlib.sha256(f"jitter:{task_id}".encode()).digest()
    # Integer arithmetic keeps the result below the spread for every digest.
    return int.from_bytes(digest[:8], "big") * whole >> 64


def jitter_of(schedule: Mapping[str, Any]) -> float:
    """Return the seconds over which a stored schedule spreads the starts of its tasks."""
    return float(schedule.get("jitter_seconds") or 0)


def due_at(spec: Spec, at: datetime, task_id: str, jitter_seconds: float) -> datetime:
    """Return when the task's occurrence of a nominal time is due."""
    if not jitter_seconds:
        return at
    return at + timedelta(milliseconds=jitter_ms(task_id, jitter_seconds, _gap_after(spec, at)))


def due_until(spec: Spec, at: datetime, jitter_seconds: float) -> datetime:
    """Return the moment before which an occurrence is due for any task with the schedule."""
    if not jitter_seconds:
        return at
    return at + timedelta(seconds=_spread(jitter_seconds, _gap_after(spec, at)))


def gaps_from(spec: Spec, since: datetime) -> list[float]:
    """Return the seconds between the next instants of a schedule, as :func:`in_words` asks for."""
    instants = [one.at for one in islice(spec.walk(since), _GAPS_LOOKED_AT)]
    return [(later - at).total_seconds() for at, later in pairwise(instants)]


def in_words(jitter_seconds: float, gaps: Sequence[float], *, task_id: str) -> str:
    """Return the words for a schedule's jitter; '' without one, the range without a task.

    Where some gaps are shorter than the jitter and others are not, the task's share differs, and
    the words name only the limit.
    """
    if not jitter_seconds:
        return ""
    words = f", spread over up to {jitter_seconds:g} s"
    if not task_id or (len(set(gaps)) > 1 and min(gaps) < jitter_seconds):
        return words
    share = jitter_ms(task_id, jitter_seconds, min(gaps, default=None)) / 1000
    return f"{words}: this task {share:.1f} s later".replace(".0 s later", " s later")


def _spread(jitter_seconds: float, next_gap_seconds: float | None) -> float:
    return jitter_seconds if next_gap_seconds is None else min(jitter_seconds, next_gap_seconds)


def _gap_after(spec: Spec, at: datetime) -> float | None:
    following = spec.next_after(at)
    return (following.at - at).total_seconds() if following else None
