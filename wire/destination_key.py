"""Names of destinations in Redis and in messages: the tenant and the host.

The tenant is part of the name, so that one tenant's calls never open the circuit of another
tenant's destination.
"""

from __future__ import annotations

from uuid import UUID

#: Why an execution is parked; its ``reason`` holds one of these words while it is.
CIRCUIT_OPEN = "circuit_open"
RATE = "destination_rate"
IN_FLIGHT = "destination_in_flight"
REASONS = (CIRCUIT_OPEN, RATE, IN_FLIGHT)
#: Which limit of its tenant a worker could not start an execution for.
TENANT_RATE = "tenant_rate"
TENANT_IN_FLIGHT = "tenant_in_flight"
#: -> the quota.
QUOTA_OF = {TENANT_RATE: "executions_per_second", TENANT_IN_FLIGHT: "executions_in_flight"}


def key_of(tenant_id: UUID | str, host: str) -> str:
    """Return the name of a tenant's destination, '' for work that calls no host."""
    return f"{tenant_id}:{host}" if host else ""


def tenant_and_host(key: str) -> tuple[UUID, str]:
    """Return the parts of a name; raise ValueError for one that is none."""
    tenant, _, host = key.partition(":")
    return UUID(tenant), host


def limits_text(most: int | None, rate: float | None, breaker: bool | None) -> str:
    """Return limits as messages and the start guard have them, '' where there are none.

    ``breaker,most,rate``, for instance ``1,5,2.5``; a limit that is not set is empty.
    """
    if most is None and rate is None and breaker is not False:
        return ""
    parts = ("0" if breaker is False else "1", most, None if rate is None else repr(float(rate)))
    return ",".join("" if part is None else str(part) for part in parts)
