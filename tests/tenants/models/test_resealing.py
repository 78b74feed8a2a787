from __future__ import annotations

from datetime import UTC, datetime

from tenants.models import Resealing


def test_a_resealing_runs_until_its_end_is_noted():
    made = Resealing(generation=2)

    assert made.status == "RUNNING"
    made.ended_at = datetime(2026, 1, 1, tzinfo=UTC)
    assert made.status == "COMPLETED"
