from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from insight.presentation.shares import present_shares
from insight.statistics.shares import Minute, Share

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def test_a_share_shows_what_was_received_beside_what_was_due():
    share = Share(UUID(int=1), "default", 33.333, 20, 1.23456, 1)
    share.minutes = [Minute(NOW, 33.333, 20, 1.23456)]

    assert present_shares(3, 60, [share]) == {
        "weight": 3,
        "minutes": 60,
        "pools": [
            {
                "pool": "default",
                "scarce_minutes": 1,
                "due": 33.3,
                "received": 20,
                "ratio": 0.6,
                "oldest_wait_seconds": 1.235,
                "by_minute": [
                    {"minute": NOW, "due": 33.3, "received": 20, "oldest_wait_seconds": 1.235}
                ],
            }
        ],
    }
