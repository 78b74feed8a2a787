"""Answers as JSON, by orjson."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from django.utils.functional import Promise
from rest_framework.renderers import BaseRenderer

from shared.instants import format_instant

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


def dump_json(value: Any) -> bytes:
    """Return the wire form: compact JSON, times in UTC with milliseconds."""
    return orjson.dumps(value, default=_encode, option=orjson.OPT_PASSTHROUGH_DATETIME)


class OrjsonRenderer(BaseRenderer):
    """Render an answer in the wire form."""

    media_type = JSON
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the body; nothing at all for None."""
        return b"" if data is None else dump_json(data)


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no wire form")
