"""A task as answers present it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from tests.tasks.bodies import NOW

TASK_ID = UUID("0199b6f0-0000-7000-8000-000000000001")


@dataclass(frozen=True)
class ATask:
    id: UUID = TASK_ID
    status: str = "SCHEDULED"
    version: int = 3
    next_run_at: datetime | None = datetime(2026, 11, 21, 7, tzinfo=UTC)
    created_at: datetime = NOW
    updated_at: datetime = NOW
    paused_until: datetime | None = None
    pause_note: str = ""
    last_execution_id: UUID | None = None
    last_execution_status: str = ""
    last_execution_at: datetime | None = None
