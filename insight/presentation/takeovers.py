"""The answer that shows takeovers and lost work."""

from __future__ import annotations

from typing import Any

from insight.takeovers import Losses
from shared.instants import format_instant


def present_losses(found: Losses) -> dict[str, Any]:
    """Return the last takeovers, and the lost attempts and workers of the window."""
    workers = None
    if found.workers is not None:
        workers = [
            {"id": one.id, "pool": one.pool, "heard_at": format_instant(one.heard_at)}
            for one in found.workers
        ]
    return {
        "takeovers": [
            {
                "at": format_instant(one.at),
                "lost_by": one.lost_by or None,
                "taken_by": one.taken_by or None,
                "partitions": one.partitions,
                "unowned_seconds": round(one.unowned_seconds, 3),
            }
            for one in found.takeovers
        ],
        "since": format_instant(found.since),
        "lost_attempts": [
            {
                "at": format_instant(one.at),
                "by": "hour" if one.by_hour else "minute",
                "attempts": one.attempts,
            }
            for one in found.attempts
        ],
        "lost_workers": workers,
    }
