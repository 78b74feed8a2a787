"""Events, cursors and the audit log in the admin, read-only."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.utils.html import format_html

from events.models import AuditChain, AuditEntry, Event, EventCursor
from shared.admin import ProductAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(ProductAdmin):
    """Who changed what, when and from where."""

    list_display = ("at", "actor", "action", "object_kind", "object_id", "address", "tenant_id")
    list_display_links = ("at", "action")
    list_scopes = {"tenant_id": "tenant_id"}
    search_fields = ("=id", "=object_id", "=actor", "^action")
    noun = ("audit entry", "audit entries")
    # No index begins with the object's id.
    search_by_key = False
    search_help_text = "Id of the entry or of its object, the actor, or how the action begins."
    fields = (
        "id", "tenant_id", "sequence", "at", "actor", "address", "trace_id", "action",
        "object_kind", "object_id", "changed_from", "changed_to",
    )  # fmt: skip

    @admin.display(description="Before")
    def changed_from(self, entry: AuditEntry) -> Any:
        """Return the values before the change."""
        return _pretty(entry.before)

    @admin.display(description="After")
    def changed_to(self, entry: AuditEntry) -> Any:
        """Return the values after the change."""
        return _pretty(entry.after)


@admin.register(AuditChain)
class AuditChainAdmin(ProductAdmin):
    """Begin and end of each tenant's audit log."""

    list_display = ("tenant_id", "sequence")


@admin.register(Event)
class EventAdmin(ProductAdmin):
    """The outbox, newest first."""

    list_display = ("short_id", "name", "subject", "task_id", "at", "tenant_id")
    search_fields = ("=id", "=subject_id")
    search_help_text = "Id of the event or of its only subject."
    fields = (
        "id", "tenant_id", "name", "subject_id", "task_id", "subjects", "tasks", "data", "at",
    )  # fmt: skip

    @admin.display(description="Subject")
    def subject(self, event: Event) -> str:
        """Return the subject, or the size of a batch."""
        return event.described


@admin.register(EventCursor)
class EventCursorAdmin(ProductAdmin):
    """How far each consumer has read the outbox."""

    list_display = ("consumer", "xid", "event_id", "read_at")


def _pretty(text: str | None) -> Any:
    if text is None:
        return "-"
    return format_html("<pre>{}</pre>", json.dumps(json.loads(text), indent=2, ensure_ascii=False))
