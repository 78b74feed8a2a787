"""HTTP status patterns: ``2xx``, ``503`` and ``200-299``.

Validation checks them on creation, the outcome of an attempt is decided with them. A status of no
class, 600 to 999, counts as ``5xx`` (RFC 9110, 15).
"""

from __future__ import annotations

import re

_CLASS = re.compile(r"([1-5])xx", re.IGNORECASE)
_RANGE = re.compile(r"([1-9][0-9]{2})(?:-([1-9][0-9]{2}))?")
_SERVER_ERROR, _END = 500, 1000


def parse_status_pattern(pattern: str) -> range:
    """Return the statuses that the pattern names; ValueError when it is none."""
    if match := _CLASS.fullmatch(pattern):
        first = int(match[1]) * 100
        return range(first, _END if first == _SERVER_ERROR else first + 100)
    match = _RANGE.fullmatch(pattern)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f"{pattern!r} is no status pattern (503, 5xx or 500-599)")
    return range(int(match[1]), int(match[2] or match[1]) + 1)
