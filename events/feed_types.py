"""The types of events that a tenant may read, and what of their data.

The outbox has what consumers within Punctual need; this list is what its readers outside get. A
name that is missing here is never shown, and neither is a field of its data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HAND_OUT = ("queued_at",)
_ALERT = ("kind", "count")
_BUDGET = ("unit", "per", "limit", "used", "resets_at")

#: Type -> the fields of its data that are shown; none holds a payload, an answer or a secret.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "execution.materialized": (),
    "execution.skipped": (),
    "execution.queued": (),
    "execution.started": (),
    "execution.accepted": (),
    "execution.succeeded": (),
    "execution.retrying": (),
    "execution.failed": (),
    "execution.cancelled": (),
    "execution.withdrawn": _HAND_OUT,
    "execution.released": _HAND_OUT,
    "execution.deferred": (*_HAND_OUT, "limit", "until"),
    "task.changed": (),
    "run.changed": (),
    "pause.changed": (),
    "dead_letter.changed": (),
    "bulk_job.changed": (),
    "quota.near": ("quota", "limit", "used", "share"),
    "budget.near": _BUDGET,
    "budget.exceeded": _BUDGET,
    "alert.opened": _ALERT,
    "alert.recovered": _ALERT,
    "alert.returned": _ALERT,
    "alert.closed": _ALERT,
    "alert.changed": _ALERT,
}
TYPES = tuple(SHOWN)


def shown_data(event_type: str, data: Any) -> dict[str, Any] | None:
    """Return the fields of an event's data that its type shows; None without any."""
    if not isinstance(data, Mapping):
        return None
    found = {name: data[name] for name in SHOWN[event_type] if name in data}
    return found or None
