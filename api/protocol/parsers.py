"""Request bodies as strict JSON: text that PostgreSQL, Python or a later reader cannot hold is 400.

``shared.strict_json`` judges the text, as at every other door.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser

from shared.exceptions import FieldError, InvalidInput, TooLarge
from shared.strict_json import read_json

MAX_BODY_BYTES = 1536 * 1024


class StrictJSONParser(BaseParser):
    """Parse ``application/json``; the view may set ``max_body_bytes`` and ``any_json``."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body's value; an object unless the view allows any JSON."""
        context = parser_context or {}
        request, view = context.get("request"), context.get("view")
        refuse_media_type(media_type or "", request.META if request is not None else {})
        body = _read(stream, getattr(view, "max_body_bytes", MAX_BODY_BYTES), request)
        value = read_json(body) if body else {}
        if not isinstance(value, dict) and not getattr(view, "any_json", False):
            message = "The body must be a JSON object."
            raise InvalidInput([FieldError("#", "body_not_object", message)], message)
        return value


def refuse_media_type(media_type: str, headers: Mapping[str, Any]) -> None:
    """Raise UnsupportedMediaType for anything but unencoded UTF-8 JSON."""
    name, *parameters = (part.strip().lower() for part in media_type.split(";"))
    charsets = [text[8:].strip("\"'") for text in parameters if text.startswith("charset=")]
    if name != "application/json" or not set(charsets) <= {"utf-8", "utf8"}:
        raise UnsupportedMediaType(media_type, "Send the body as application/json in UTF-8.")
    encoding = str(headers.get("HTTP_CONTENT_ENCODING", "")).strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(encoding, "Send the body without a content encoding.")


def _read(stream: Any, limit: int, request: Any) -> bytes:
    message = f"The body is larger than {limit} bytes."
    declared = str(request.META.get("CONTENT_LENGTH") or "0") if request is not None else "0"
    if declared.isdecimal() and int(declared) > limit:
        raise TooLarge(message)
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(message)
    return body
