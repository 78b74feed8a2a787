"""The answers that show erasures: certificates, and how far one has come."""

from __future__ import annotations

from typing import Any

from executions.erasure.requests import BY_HAND, BY_HAND_OF_TENANTS
from executions.models import Erasure
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant


def present_erasure(erasure: Erasure) -> dict[str, Any]:
    """Return the certificate of an erasure."""
    is_task = erasure.object_kind == "task"
    return {
        "id": str(erasure.id),
        "object_kind": erasure.object_kind,
        "object_id": str(erasure.object_id),
        "status": erasure.status,
        "reason": erasure.reason,
        "begun_by": erasure.begun_by,
        "begun_at": format_instant(erasure.begun_at),
        "ended_at": instant_or_none(erasure.ended_at),
        "counts": erasure.counts,
        "audit_entries": {"count": erasure.audit_count, "digest": erasure.audit_digest},
        "by_hand": list(BY_HAND if is_task else BY_HAND_OF_TENANTS),
    }
