"""Characters that hide in a name: they turn its direction, or have no width.

Two names that look alike must be alike. New names have none of them; a stored name keeps what it
has.
"""

from __future__ import annotations

import re

#: Marks of direction, joiners and spaces without width, fillers, tags and selectors of variants.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def short_name_problem(name: str, longest: int) -> tuple[str, str] | None:
    """Return code and sentence of what is wrong with a name of one line, or None."""
    if not name.strip() or len(name) > longest or not name.isprintable():
        return "invalid", f"Give a name of 1 to {longest} visible characters."
    return hidden_problem(name)


def hidden_problem(text: str, stored: str = "") -> tuple[str, str] | None:
    """Return code and sentence of what is wrong with a name, or None.

    Characters that the ``stored`` name has already are allowed.
    """
    found = [letter for letter in _HIDDEN.findall(text) if letter not in stored]
    if not found:
        return None
    named = ", ".join(sorted({f"U+{ord(letter):04X}" for letter in found})[:3])
    return (
        "invalid_characters",
        f"Must not contain characters that cannot be seen or that turn the direction ({named}).",
    )
