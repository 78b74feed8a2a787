"""The calls about saved views and named secrets: a part of the table."""

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


def of_secrets(op: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rows of the table about named secrets, each made by ``op``."""
    return (
        op("list_secrets", "GET /v1/secrets", "read"),
        op("get_secret", f"GET {_SECRET}", "read"),
        op("create_secret", "POST /v1/secrets", "admin", body=_NEW_SECRET),
        op("change_secret", f"PATCH {_SECRET}", "admin", body={"value": "another"}),
        op("remove_secret", f"DELETE {_SECRET}", "admin"),
    )
