"""The append-only tables (domain events, audit entries) and the places of those who read them."""

from __future__ import annotations

from events.models.audit_entry import AuditChain, AuditEntry
from events.models.cursor import EventCursor
from events.models.event import Event

__all__ = ["AuditChain", "AuditEntry", "Event", "EventCursor"]
