"""Which events of its types a subscription wants: those of named tasks, or of tasks with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from events.feed import FeedEvent
from tasks.models import Task


def wanted(tenant_id: UUID, chosen: dict[str, Any], events: Sequence[FeedEvent]) -> list[bool]:
    """Return of each event whether the filter lets it pass.

    ``task_ids`` and ``labels`` hold together; an event without a task passes only where neither is
    given. Labels are those that the task has now.
    """
    task_ids = {UUID(one) for one in chosen.get("task_ids", ())}
    labels: dict[str, str] = chosen.get("labels", {})
    if not task_ids and not labels:
        return [True] * len(events)
    named = {event.task_id for event in events if event.task_id is not None}
    allowed = named & task_ids if task_ids else named
    if labels and allowed:
        found = Task.objects.filter(tenant_id=tenant_id, pk__in=allowed, labels__contains=labels)
        allowed = set(found.values_list("pk", flat=True))
    return [event.task_id in allowed for event in events]
