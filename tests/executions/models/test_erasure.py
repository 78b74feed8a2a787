from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from executions.models import Erasure


def test_an_erasure_is_completed_once_it_has_ended():
    erasure = Erasure(object_id=UUID(int=1))
    assert erasure.status == "RUNNING"

    erasure.ended_at = datetime(2026, 11, 30, tzinfo=UTC)

    assert str(erasure) == f"task {UUID(int=1)} COMPLETED"
