"""Request bodies as strict JSON: what PostgreSQL, Python or a later reader would choke on is 400.

Refused: anything but UTF-8, NaN and infinities, numbers that do not fit, duplicate names,
NUL characters, lone surrogates, nesting over 64 levels. Judged before or while parsing, so
that a hostile body costs no more than an honest one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser

from shared.exceptions import FieldError, InvalidInput, TooLarge

MAX_DEPTH = 64
MAX_BODY_BYTES = 1536 * 1024

# Strings are taken whole (possessively: no backtracking), so brackets in texts do not count.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TO_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
# Only texts spelled with these escapes can hold NUL or surrogates once the bytes are UTF-8.
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_FORBIDDEN_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_INTEGER_LIMIT = 2**63


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
        value = parse_json(body) if body else {}
        if not isinstance(value, dict) and not getattr(view, "any_json", False):
            _refuse("body_not_object", "The body must be a JSON object.")
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


def parse_json(body: bytes) -> Any:
    """Return the value of strict JSON; raise InvalidInput that says what is wrong and where."""
    _refuse_depth(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("json_invalid", f"The body is not UTF-8: bad byte at offset {error.start}.")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        _refuse("json_invalid", f"The body is not JSON: {error.msg} at {place}.")
    if _SUSPICIOUS_ESCAPE.search(text):
        refuse_forbidden_characters(value)
    return value


def refuse_forbidden_characters(value: Any) -> None:
    """Raise InvalidInput if any text in the value, names too, holds NUL or a lone surrogate."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if _FORBIDDEN_CHARACTER.search(item):
                _refuse("text_invalid", "Texts may not hold NUL characters or lone surrogates.")
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _read(stream: Any, limit: int, request: Any) -> bytes:
    message = f"The body is larger than {limit} bytes."
    declared = str(request.META.get("CONTENT_LENGTH") or "0") if request is not None else "0"
    if declared.isdecimal() and int(declared) > limit:
        raise TooLarge(message)
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(message)
    return body


def _refuse_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    brackets = _STRINGS.sub(b"", body).translate(_TO_SQUARE, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        before = len(brackets)
        brackets = brackets.replace(b"[]", b"")  # removes the innermost level everywhere
        if len(brackets) == before:
            break
    # A few unmatched brackets are left to the decoder, which says where they are.
    if len(brackets) > MAX_DEPTH or b"[]" in brackets:
        _refuse("json_too_deep", f"The body is nested over {MAX_DEPTH} levels.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add returns None, which is false
        _refuse("json_duplicate_name", f"The name {twice[:100]!r} occurs twice in one object.")
    return value


def _integer(text: str) -> int:
    # The length is judged first: converting thousands of digits is slow, then an error.
    if len(text) <= 20 and -_INTEGER_LIMIT <= (value := int(text)) < _INTEGER_LIMIT:
        return value
    _refuse("number_out_of_range", "Whole numbers must fit into 64 bits.")


def _decimal(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        _refuse("number_out_of_range", "A number is too large.")
    return value


def _constant(text: str) -> NoReturn:
    _refuse("json_invalid", f"{text} is not JSON.")


def _refuse(code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError("#", code, message)], message)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_constant,
)
