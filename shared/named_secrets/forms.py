"""The forms in which a value may come back: as it is, and as calls and answers write it.

A password travels in base64, a key of a query with percent signs, and an answer in JSON escapes
what it repeats.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

#: A shorter form is not masked: it would be found by chance. So would fewer letters at a cut.
_SHORTEST = 6
_SHORTEST_AT_CUT = 3


def forms_of(value: str) -> set[bytes]:
    """Return the forms of a value that are masked; none of a value that is too short."""
    if len(value.encode()) < _SHORTEST:
        return set()
    return {form for form in _all_forms(value) if len(form) >= _SHORTEST}


def cut_at_end(data: bytes, form: bytes) -> int:
    """Return how many bytes at the end begin the form, whose rest is cut off; 0 for too few."""
    longest = min(len(form) - 1, len(data))
    lengths = range(longest, _SHORTEST_AT_CUT - 1, -1)
    return next((length for length in lengths if data.endswith(form[:length])), 0)


def cut_at_begin(data: bytes, form: bytes) -> int:
    """Return how many bytes at the beginning end the form; 0 for too few."""
    longest = min(len(form) - 1, len(data))
    lengths = range(longest, _SHORTEST_AT_CUT - 1, -1)
    return next((length for length in lengths if data.startswith(form[-length:])), 0)


def _all_forms(value: str) -> Iterator[bytes]:
    raw = value.encode()
    yield raw
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield escaped.encode()
        yield escaped.replace("/", "\\/").encode()
    for text in (quote(value), quote(value, safe=""), quote_plus(value), html.escape(value)):
        yield text.encode()
    yield from _in_base64(raw)
    # The proof of a client is escaped before it is encoded.
    yield from _in_base64(quote_plus(value).encode())


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Yield the characters of each encoding that are the same at every position of the value."""
    for before in range(3):
        bits = (before + len(raw)) * 8
        letters = base64.b64encode(bytes(before) + raw)[-(-before * 8 // 6) : bits // 6]
        yield letters
        yield letters.translate(bytes.maketrans(b"+/", b"-_"))
