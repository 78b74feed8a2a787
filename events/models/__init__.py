"""The append-only tables (domain events, audit entries) and the cursors of their consumers."""

from __future__ import annotations

from events.models.audit_entry import AuditChain, AuditEntry
from events.models.cursor import EventCursor
from events.models.event import Event

__all__ = ["AuditChain", "AuditEntry", "Event", "EventCursor"]
