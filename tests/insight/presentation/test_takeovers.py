from __future__ import annotations

from datetime import UTC, datetime, timedelta

from insight.presentation.takeovers import present_losses
from insight.takeovers import Losses, LostAttempts, LostWorker, Takeover

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_what_was_lost_is_shown_with_its_times_and_names():
    shown = present_losses(
        Losses(
            [Takeover(AT, "s1@a", "s2@b", 9, 8.12345), Takeover(AT, "", "", 1, 2.0)],
            [LostAttempts(AT, True, 4), LostAttempts(AT, False, 2)],
            [LostWorker("w1", "default", AT)],
            AT - timedelta(days=1),
        )
    )

    moment = "2026-03-01T12:00:00.000Z"
    assert shown == {
        "takeovers": [
            {"at": moment, "lost_by": "s1@a", "taken_by": "s2@b", "partitions": 9,
             "unowned_seconds": 8.123},
            {"at": moment, "lost_by": None, "taken_by": None, "partitions": 1,
             "unowned_seconds": 2.0},
        ],
        "since": "2026-02-28T12:00:00.000Z",
        "lost_attempts": [
            {"at": moment, "by": "hour", "attempts": 4},
            {"at": moment, "by": "minute", "attempts": 2},
        ],
        "lost_workers": [{"id": "w1", "pool": "default", "heard_at": moment}],
    }  # fmt: skip


def test_workers_are_unknown_without_redis():
    assert present_losses(Losses([], [], None, AT))["lost_workers"] is None
