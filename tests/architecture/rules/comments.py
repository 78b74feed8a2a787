"""Comments say why, waivers name their reason, and no file knows the machine it was written on."""

from __future__ import annotations

import io
import re
import tokenize

_TICKET = re.compile(
    r"\b(TODO|FIXME|XXX|HACK)\b|(^|\s)#\d+\b|\b(issue|ticket|PR) \d+", re.IGNORECASE
)
_WAIVER = re.compile(
    r"(noqa(?!:\s*[A-Z]+\d+)|type:\s*ignore(?!\[))"  # names no rule
    r"|(noqa:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|type:\s*ignore\[[^\]]*\])\s*$"  # gives no reason
)
_MACHINE = re.compile(r"/(home|Users|root|work)/[\w.-]+")


def comments(source: str) -> list[str]:
    """Refuse tickets, and waivers without rule and reason in comments."""
    breaches = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        text = token.string.lstrip("#: ")
        for pattern, why in (
            (_TICKET, "talks of tickets or of work to do"),
            (_WAIVER, "waives without naming rule and reason"),
        ):
            if pattern.search(text):
                breaches.append(f"{token.start[0]}: {why}: {text!r}")
    return breaches


def machine_paths(source: str) -> list[str]:
    """Refuse paths of the machine that a file was written on."""
    return [
        f"{number}: names a path of one machine: {match.group(0)}"
        for number, line in enumerate(source.splitlines(), start=1)
        for match in _MACHINE.finditer(line)
    ]
