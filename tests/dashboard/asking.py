"""Looks at pages as tests of views do: messages, audit entries, the cost in queries."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import AuditEntry
from tenants.models import Tenant

#: What must come out of no page as it went in.
HOSTILE = "<script>alert('x')</script>\" onload=\"y"


def messages_of(answer: Any) -> list[str]:
    """Return the messages on the page that an action led to; asked with ``follow=True``."""
    return [str(message) for message in answer.context["messages"]]


def said(client: Client, path: str, fields: dict[str, Any] | None = None, back: str = "/") -> str:
    """Send an action and return the one message that it made."""
    answer = client.post(path, {"next": back, **(fields or {})}, follow=True)
    assert answer.status_code == 200
    [message] = messages_of(answer)
    return message


def user_of(client: Client) -> str:
    """Return the name under which the audit log knows a signed-in browser."""
    return f"user:{client.session['_auth_user_id']}"


def audited(tenant: Tenant) -> list[tuple[str, str]]:
    """Return action and actor of what was done by members, in order; without what they read."""
    entries = AuditEntry.objects.filter(tenant_id=tenant.pk, actor__startswith="user:")
    entries = entries.exclude(action="payload.read")
    return list(entries.order_by("sequence").values_list("action", "actor"))


def queries_for(client: Client, path: str) -> int:
    """Return how many queries a page costs."""
    client.get(path)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def is_escaped(answer: Any) -> bool:
    """Return whether the hostile text is on the page, and only as text."""
    return "<script>alert(" not in answer.text and "&lt;script&gt;alert(" in answer.text
