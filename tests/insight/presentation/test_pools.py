from __future__ import annotations

from datetime import UTC, datetime

from executions.external.pools import PoolView
from executions.models import Pool
from insight.presentation.pools import present_pool

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def test_a_pool_is_shown_with_its_settings_and_how_it_stands():
    pool = Pool(name="batch", max_in_flight=3, created_at=AT, updated_at=AT)

    assert present_pool(PoolView(pool, 2, AT, 1, [])) == {
        "name": "batch",
        "paused": False,
        "max_in_flight": 3,
        "depth": 2,
        "oldest_due_at": "2026-11-20T08:00:00.000Z",
        "in_flight": 1,
        "live_workers": 0,
        "version": 1,
        "created_at": "2026-11-20T08:00:00.000Z",
        "updated_at": "2026-11-20T08:00:00.000Z",
    }


def test_workers_that_nobody_can_ask_for_are_null():
    pool = Pool(name="batch", created_at=AT, updated_at=AT)

    assert present_pool(PoolView(pool, 0, None, 0, None))["live_workers"] is None
