"""A captured log as a page may show it: bounded, and unable to change the text around it.

Colours of terminals are left out; other control characters, and those that turn the direction of
text, are shown as signs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Length of the end of a log that a page shows.
SHOWN_BYTES = 16 * 1024
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class LogText:
    """The end of a log as text, and the number of bytes before it."""

    text: str
    left_out: int


def readable(output: bytes) -> LogText:
    """Return the end of a log, from the beginning of a line on where one is near."""
    left_out = max(0, len(output) - SHOWN_BYTES)
    if left_out:
        line = output.find(b"\n", left_out, left_out + 1000)
        left_out = left_out if line < 0 else line + 1
    text = output[left_out:].decode("utf-8", "replace").replace("\r\n", "\n")
    return LogText(_STEERING.sub(_sign, _SEQUENCE.sub("", text)), left_out)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<{code:04X}>"
