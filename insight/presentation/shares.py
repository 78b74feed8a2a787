"""The shares of tenants as answers."""

from __future__ import annotations

from typing import Any

from insight.statistics.shares import Share


def present_share(share: Share) -> dict[str, Any]:
    """Return the sums of a pool, without its minutes."""
    return {
        "pool": share.pool,
        "scarce_minutes": share.scarce_minutes,
        "due": round(share.due, 1),
        "received": share.received,
        "ratio": None if share.ratio is None else round(share.ratio, 3),
        "oldest_wait_seconds": round(share.oldest_wait, 3),
    }


def present_shares(weight: int, minutes: int, shares: list[Share]) -> dict[str, Any]:
    """Return a tenant's weight, and its share of each pool by minute."""
    return {
        "weight": weight,
        "minutes": minutes,
        "pools": [
            {
                **present_share(share),
                "by_minute": [
                    {
                        "minute": one.minute,
                        "due": round(one.due, 1),
                        "received": one.received,
                        "oldest_wait_seconds": round(one.oldest_wait, 3),
                    }
                    for one in share.minutes
                ],
            }
            for share in shares
        ],
    }
