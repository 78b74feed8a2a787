"""Answers as JSON, by orjson, and the negotiation that knows nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from django.utils.functional import Promise
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from shared.instants import format_instant

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
_SERVED = (JSON, PROBLEM_JSON)
_RANGES = {"*/*", "application/*", *_SERVED}


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


class JsonNegotiation(BaseContentNegotiation):
    """Choose JSON for everybody who does not rule it out; otherwise 406."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """Return the only parser; it judges the media type itself."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the first renderer, or raise NotAcceptable."""
        if not accepts_json(request.META.get("HTTP_ACCEPT", "")):
            raise NotAcceptable("This API answers in application/json only.")
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def accepts_json(header: str) -> bool:
    """Return whether an Accept header allows application/json or application/problem+json."""
    if not header.strip():
        return True
    for entry in header.split(","):
        media_range, *parameters = (part.strip().lower() for part in entry.split(";"))
        if media_range in _RANGES and not any(_is_zero_quality(text) for text in parameters):
            return True
    return False


def _is_zero_quality(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip().rstrip("0") in ("", ".", "0.")


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
