"""A time axis that cuts long idle stretches short, so that the busy ones keep their width.

Busy stretches have one scale along the whole axis. A wait that would take too much of it has a
fixed width and a label. Places are shares of the axis, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_CUT_SHARE, _FIRST_CUT_SHARE, _MOST_CUT = 0.08, 0.17, 0.45
#: A wait is cut when it is longer than this part of all busy stretches.
_PATIENCE = 0.6


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the axis in milliseconds and, as shares, where it is drawn."""

    start: float
    end: float
    left: float
    right: float
    is_cut: bool


class BrokenAxis:
    """Places moments; ``busy`` stretches, which may overlap, are never cut."""

    def __init__(self, busy: Sequence[tuple[float, float]], knots: Sequence[float]) -> None:
        """``knots`` are moments at which waits are told apart, like the end of a retry's wait."""
        edges = sorted({*knots, *(moment for stretch in busy for moment in stretch)})
        stretches = [
            (start, end, any(low <= start and end <= high for low, high in busy))
            for start, end in pairwise(edges)
        ]
        spent = sum(end - start for start, end, is_busy in stretches if is_busy)
        cuts = [
            not is_busy and end - start > spent * _PATIENCE for start, end, is_busy in stretches
        ]
        self.pieces = _laid_out([(start, end) for start, end, _ in stretches], cuts)

    def place(self, moment: float) -> float:
        """Return the place of a moment; a moment outside of the axis is put at the nearer end."""
        for piece in self.pieces:
            if moment <= piece.end:
                length = piece.end - piece.start
                inside = (max(moment, piece.start) - piece.start) / length if length else 0.0
                return piece.left + inside * (piece.right - piece.left)
        return 1.0 if self.pieces else 0.0

    @property
    def cuts(self) -> list[Piece]:
        """Return the waits that are cut short."""
        return [piece for piece in self.pieces if piece.is_cut]

    @property
    def milliseconds_per_axis(self) -> float:
        """Return the length of the axis without cuts: the scale of all uncut stretches."""
        whole = [piece for piece in self.pieces if not piece.is_cut]
        width = sum(piece.right - piece.left for piece in whole)
        return sum(piece.end - piece.start for piece in whole) / width if width else 0.0


def _laid_out(stretches: Sequence[tuple[float, float]], cuts: Sequence[bool]) -> list[Piece]:
    widths = _cut_widths(cuts)
    lengths = [
        0.0 if is_cut else end - start for (start, end), is_cut in zip(stretches, cuts, strict=True)
    ]
    total = sum(lengths, 0.0)
    asked = sum(widths, 0.0)
    # Where only waits are known, they share the whole axis.
    given = min(asked, _MOST_CUT) if total else float(asked > 0)
    pieces: list[Piece] = []
    left = 0.0
    for (start, end), is_cut, width, length in zip(stretches, cuts, widths, lengths, strict=True):
        share = width / asked * given if is_cut else length / total * (1.0 - given)
        right = min(left + share, 1.0)
        pieces.append(Piece(start, end, left, right, is_cut))
        left = right
    return pieces


def _cut_widths(cuts: Sequence[bool]) -> list[float]:
    # The first has no free room before it for its words, so it is wider.
    return [
        (_CUT_SHARE if place else _FIRST_CUT_SHARE) if is_cut else 0.0
        for place, is_cut in enumerate(cuts)
    ]
