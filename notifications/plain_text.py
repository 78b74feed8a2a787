"""Makes foreign text fit for messages: no control characters, no secrets, not too long.

Names of tasks and answers of receivers reach mail headers, terminals and browsers, and must not
control them.
"""

from __future__ import annotations

import re
import unicodedata

from shared.redaction import MASK, redact_text

_SECRET_VALUE = re.compile(
    r"""(?P<name>["']?[\w-]*(?:passw|secret|token|api[_-]?key|authorization|credential)[\w-]*["']?
        \s*[:=]\s*)(?P<value>"[^"]*"?|'[^']*'?|(?:bearer\s+|basic\s+)?[^\s,;&"'}<]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def one_line(text: str, width: int = 200) -> str:
    """Return the text in one printable line of at most ``width`` characters."""
    flat = " ".join("".join(_visible(letter) for letter in text).split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def excerpt(text: str, width: int = 600) -> str:
    """Return the beginning of an answer, its lines kept, with apparent secrets masked."""
    shown = "\n".join(
        "".join(_visible(letter) for letter in line).rstrip()
        for line in text[: width * 4].splitlines()
    )
    masked = _SECRET_VALUE.sub(rf"\g<name>{MASK}", redact_text(shown)).strip()
    return masked if len(masked) <= width else f"{masked[: width - 1]}…"


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    # Controls, direction marks and surrogates; unassigned characters show as boxes and may stay.
    return "" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter
