"""Regular expressions that users write, matched in time linear in the text (RE2).

Validation compiles them on creation, delivery searches answers with them. Back references and
look-around do not exist; memory per pattern is bounded.
"""

from __future__ import annotations

from functools import lru_cache

import re2

_MEMORY_BYTES = 1024 * 1024


class Pattern:
    """A compiled pattern; it is searched for anywhere unless it is anchored."""

    __slots__ = ("_compiled",)

    def __init__(self, text: str) -> None:
        options = re2.Options()
        options.max_mem = _MEMORY_BYTES
        options.log_errors = False
        try:
            self._compiled = re2.compile(text.encode(), options)
        except re2.error as error:
            detail = error.args[0] if error.args else b""
            reason = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
            raise ValueError(f"no regular expression: {reason}") from error

    def found_in(self, text: bytes) -> bool:
        """Return whether UTF-8 text holds the pattern; other bytes match nothing but each other."""
        return self._compiled.search(text) is not None


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Return the pattern; ValueError says what is wrong with it."""
    return Pattern(text)
