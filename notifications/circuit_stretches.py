"""When circuits of a tenant were not closed, as its alerts have it.

The alerter looks every two seconds, so the times are up to that much late.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from insight.demo_break import Stretch
from notifications.choices import AlertKind
from notifications.models import Alert


def circuit_stretches(tenant_id: UUID, since: datetime) -> list[Stretch]:
    """Return the last stretch of each alert about a circuit that was open since then."""
    found = Alert.objects.filter(
        tenant_id=tenant_id, kind=AlertKind.CIRCUIT_OPEN, last_at__gte=since
    )
    return [Stretch(one.last_at, one.recovered_at) for one in found.order_by("last_at")]
