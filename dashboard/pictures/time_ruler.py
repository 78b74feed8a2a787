"""Draws the parts of a time axis: the band of a wait that is cut short, and a measure of length."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString

from dashboard.pictures.broken_axis import BrokenAxis, Piece
from dashboard.pictures.markup import percent, tag
from shared.duration_words import duration_text

_SHARE = 0.3


def cut_band(piece: Piece, height: float) -> SafeString:
    """Return the band over all rows that marks a wait as cut short."""
    width = percent(piece.right - piece.left)
    return tag(
        "rect",
        {"class": "cut", "x": percent(piece.left), "width": width, "y": 0, "height": height},
    )


def cut_label(piece: Piece) -> SafeString:
    """Return how long the wait is that the band cuts short."""
    words = f"⋯ {duration_text(piece.end - piece.start)}"
    middle = percent((piece.left + piece.right) / 2)
    return tag("text", {"class": "cut-label at-middle", "x": middle, "y": 13}, words)


def merged_spans(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the stretches that at least one span covers, in order."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def ruler(axis: BrokenAxis, height: float) -> SafeString:
    """Return a measure of round length for the uncut stretches."""
    length = _round_below(axis.milliseconds_per_axis * _SHARE)
    if not length:
        return tag("g", {})
    width = percent(length / axis.milliseconds_per_axis)
    y = height - 10.0
    return tag(
        "g",
        {"class": "ruler"},
        tag("line", {"x1": 0, "x2": width, "y1": y, "y2": y}),
        tag("line", {"x1": 0, "x2": 0, "y1": y - 4, "y2": y + 4}),
        tag("line", {"x1": width, "x2": width, "y1": y - 4, "y2": y + 4}),
        tag(
            "text",
            {"class": "tick at-start", "x": width, "dx": 6, "y": y + 4},
            duration_text(length),
        ),
    )


def _round_below(milliseconds: float) -> float:
    """Return the greatest 1, 2 or 5 with zeros that is not above, from 1 µs; else 0."""
    size = 1e12
    while size >= 1e-3:
        for step in (5, 2, 1):
            if step * size <= milliseconds:
                return step * size
        size /= 10
    return 0.0
