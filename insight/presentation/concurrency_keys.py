"""Concurrency keys as the API and ``--json`` answer them."""

from __future__ import annotations

from typing import Any

from executions.gate.key_list import ShownKey
from shared.instants import format_instant


def present_key(found: ShownKey) -> dict[str, Any]:
    """Return a key as plain JSON values."""
    since = found.waiting_since
    return {
        "key": found.key,
        "in_use": found.in_use,
        "waiting": found.waiting,
        "waiting_since": format_instant(since) if since else None,
        "holders": [
            {
                "execution_id": str(holder.id),
                "task_id": str(holder.task_id),
                "task_name": holder.task_name,
                "status": holder.status,
                "started_at": format_instant(holder.started_at) if holder.started_at else None,
                "due_at": format_instant(holder.due_at),
            }
            for holder in found.holders
        ],
    }
