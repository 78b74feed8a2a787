"""Moves of zones as a new table of zones makes them."""

from __future__ import annotations

from tasks.models import Task, ZoneMove


def move_of(task: Task, to_release: str = "2026.6") -> ZoneMove:
    """Return a stored move of the task."""
    made = ZoneMove.objects.create(
        tenant_id=task.tenant_id,
        task=task,
        zone="Europe/Berlin",
        from_release="2026.5",
        to_release=to_release,
        moved={"before": "2027-10-31T06:00:00.000Z", "after": None},
        moved_count=147,
    )
    made.refresh_from_db()
    return made
