"""The calls about saved views: a part of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
