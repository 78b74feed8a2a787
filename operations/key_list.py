"""The keys of the encryption at rest, and how many stored values each has sealed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from executions.resealing.open_targets import count_open
from executions.resealing.sealing_anew import all_counts
from shared.conf import conf
from shared.instants import format_instant
from shared.key_service import key_service
from tenants.models import DataKey, Tenant


def keys(tenant: Tenant | None) -> dict[str, Any]:
    """Return the keys of the installation, and the data keys of one tenant or of all.

    Reads each table with sealed values from end to end.
    """
    counts, service = all_counts(), key_service()
    own = list(DataKey.objects.select_related("tenant").order_by("tenant__name", "-generation"))
    wrapping = Counter(service.master_of(bytes(key.wrapped)) for key in own)
    configured, active = list(conf().encryption_keys), service.active_master()
    known = {str(key.id) for key in own}
    left = count_open(None if tenant is None else tenant.id)
    others = sorted({*counts, *wrapping} - set(configured) - known)
    return {
        "keys": [
            {
                "id": key,
                "active": key == active,
                "configured": key in configured,
                "values": counts.get(key, 0),
                "data_keys": wrapping.get(key, 0),
            }
            for key in [*configured, *others]
        ],
        "data_keys": [
            {
                "id": str(key.id),
                "tenant_id": str(key.tenant_id),
                "tenant": key.tenant.name,
                "generation": key.generation,
                "status": "SEALS" if key.replaced_at is None else "OPENS",
                "wrapped_by": service.master_of(bytes(key.wrapped)),
                "created_at": format_instant(key.created_at),
                "seals_targets": key.seals_targets,
                "values": counts.get(str(key.id), 0),
            }
            for key in own
            if tenant is None or key.tenant_id == tenant.id
        ],
        "open_targets": {"versions": left.versions, "bulk_jobs": left.jobs},
    }
