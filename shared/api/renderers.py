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
    """Choose JSON unless the caller's Accept rules it out; otherwise 406."""

    #: Media types that the view answers in besides JSON.
    also_served: tuple[str, ...] = ()

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """Return the only parser; it judges the media type itself."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the first renderer, or raise NotAcceptable."""
        header = request.META.get("HTTP_ACCEPT", "")
        if not accepts_json(header) and not accepts(header, *self.also_served):
            served = " and ".join((JSON, *self.also_served))
            raise NotAcceptable(f"This call answers in {served} only.")
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def accepts_json(header: str) -> bool:
    """Return whether an Accept header allows application/json, or names application/problem+json.

    A caller that names only the type of refusals reads JSON as well.
    """
    return accepts(header, JSON) or _entries(header).get(PROBLEM_JSON, False)


def accepts(header: str, *offered: str) -> bool:
    """Return whether an Accept or Accept-Encoding header allows any of the offered values.

    The most specific entry decides (RFC 9110): ``application/json;q=0, */*`` rules JSON out.
    """
    if not header.strip():
        return bool(offered)
    allowed = _entries(header)
    return any(
        next((allowed[name] for name in _names_of(one) if name in allowed), False)
        for one in offered
    )


def _entries(header: str) -> dict[str, bool]:
    """Return the names in a header, each with whether the header allows it."""
    found: dict[str, bool] = {}
    for entry in header.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        found.setdefault(name, not any(_is_zero_quality(text) for text in parameters))
    return found


def _names_of(offered: str) -> tuple[str, ...]:
    """Return the names by which an entry may match, the most specific first."""
    kind, slash, _ = offered.partition("/")
    return (offered, f"{kind}/*", "*/*") if slash else (offered, "*")


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
