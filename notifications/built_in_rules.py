"""The ids of built-in rules, which exist for each tenant without a row."""

from __future__ import annotations

from uuid import UUID, uuid5


def built_in_id(tenant_id: UUID, kind: str) -> UUID:
    """Return the id that a tenant's built-in rule of a kind has with and without a row."""
    return uuid5(tenant_id, f"alert_rule:{kind}")
