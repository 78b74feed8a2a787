"""Fill patterns, so that no picture distinguishes things by colour alone.

A pattern's ground and lines take their colours from classes of static/css/pictures.css. Ids are
led by the picture's kind, because they share the page with those of other pictures.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.safestring import SafeString

from dashboard.pictures.markup import tag

#: Side of the repeated square in units of the drawing.
_SIDE = 8
#: Pattern -> its lines; plain has none.
LINES: Mapping[str, str] = {
    "plain": "",
    "rising": "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "dots": "M2 2h.01M6 6h.01",
    "level": "M0 4H8",
    "falling": "M6 -2L10 2M0 0L8 8M-2 6L2 10",
    "upright": "M4 0V8",
    "grid": "M0 4H8M4 0V8",
    "crossed": "M0 0L8 8M8 0L0 8",
}


def pattern(identity: str, lines: str, css: str) -> SafeString:
    """Return the definition of a pattern; fill with ``url(#identity)``."""
    return tag(
        "pattern",
        {
            "id": identity,
            "class": f"pattern {css}",
            "width": _SIDE,
            "height": _SIDE,
            "patternUnits": "userSpaceOnUse",
        },
        tag("rect", {"class": "pattern-ground", "width": _SIDE, "height": _SIDE}),
        tag("path", {"class": f"pattern-lines pattern-{lines}", "d": LINES[lines]}),
    )
