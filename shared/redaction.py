"""Masks secrets in values that are about to be logged or audited.

Works on field names and on the recognisable shapes of our own secrets. It is the second defence:
callers must not pass secrets in the first place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MASK = "[redacted]"

_SENSITIVE_NAMES = frozenset(
    "authorization auth password passwd secret secrets token tokens api_key cookie cookies "
    "payload headers body key_hash sealed private_key client_secret signature credentials "
    "database_url redis_url dsn".split()
)
# Our keys and secrets, JSON Web Tokens, bearer credentials, and passwords inside URLs. A token
# begins where its letters begin, or behind an escape such as \n: from each "eyJ" inside of a long
# text without dots, the search would run to its end again.
_SECRET_SHAPES = re.compile(
    r"whsec_[A-Za-z0-9+/=]+|pk_[a-z0-9]{9}_[A-Za-z0-9_-]+|(?<=://)[^\s/@]*:[^\s/@]+(?=@)"
    r"|(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"
    r"|(?<=bearer )[^\s,\"']+",
    re.IGNORECASE,
)
_DEPTH = 8
# The plain types first: checking them is faster.
_MAPPINGS = (dict, Mapping)
_COLLECTIONS = (list, tuple, set, frozenset)


def redact_text(text: str) -> str:
    """Return the text with everything that looks like one of our secrets masked."""
    if "_" not in text and "@" not in text and " " not in text and "eyJ" not in text:
        return text  # each shape has one of these, and a search for them is cheaper
    return _SECRET_SHAPES.sub(MASK, text)


def redact(value: Any, depth: int = 0) -> Any:
    """Return a copy in which values under sensitive names and secret-looking texts are masked."""
    if isinstance(value, str):
        return redact_text(value)
    if depth >= _DEPTH:
        return MASK
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, _MAPPINGS):
        return {
            key: MASK if item is not None and is_sensitive(str(key)) else redact(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, _COLLECTIONS):
        return [redact(item, depth + 1) for item in value]
    return value


@lru_cache(1024)
def is_sensitive(name: str) -> bool:
    """Return whether a field of this name never leaves the process in the clear."""
    return name.lower() in _SENSITIVE_NAMES
