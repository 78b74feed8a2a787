"""The calls about saved views, calendar feeds and named secrets: a part of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SECRET = "/v1/secrets/{secret}"
_NEW_SECRET = {"name": "made", "value": "made-value", "hosts": ["*"]}
_VIEW = "/v1/views/{view_id}"
_NEW = {"list": "executions", "name": "made", "query": "status=FAILED"}
#: A personal view, which needs admin besides.
_PERSONAL = {**_NEW, "member": "{member}"}


def of_views(op: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rows of the table, each made by ``op``."""
    return (
        op("list_views", "GET /v1/views", "read"),
        op("create_view", "POST /v1/views", "operate", body=_NEW),
        op("create_view", "POST /v1/views", "operate", "admin", body=_PERSONAL, foreign=400),
        op("get_view", f"GET {_VIEW}", "read"),
        op("change_view", f"PATCH {_VIEW}", "operate", body={"default": True}),
        op("remove_view", f"DELETE {_VIEW}", "operate"),
    )


def of_feeds(op: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rows of the table about calendar feeds, each made by ``op``."""
    new = {"name": "made", "member": "{member}"}
    return (
        op("list_calendar_feeds", "GET /v1/calendar-feeds", "admin"),
        op("create_calendar_feed", "POST /v1/calendar-feeds", "admin", body=new, foreign=400),
        op("revoke_calendar_feed", "DELETE /v1/calendar-feeds/{feed_id}", "admin"),
    )


def of_secrets(op: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rows of the table about named secrets, each made by ``op``."""
    return (
        op("list_secrets", "GET /v1/secrets", "read"),
        op("get_secret", f"GET {_SECRET}", "read"),
        op("create_secret", "POST /v1/secrets", "admin", body=_NEW_SECRET),
        op("change_secret", f"PATCH {_SECRET}", "admin", body={"value": "another"}),
        op("remove_secret", f"DELETE {_SECRET}", "admin"),
    )
