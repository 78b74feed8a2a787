"""How many places of a claim each priority band gets.

Urgent work goes first, but of every claim a share is kept for each lower band, so that none
starves under endless urgent work (B4). Parts of a place add up from claim to claim: also a
saturated pool, which claims one or two at a time, serves every band in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from executions.choices import BAND_NAMES

T = TypeVar("T")

_SHARE = 0.1


class Bands:
    """The places that lower bands are owed, per pool."""

    def __init__(self) -> None:
        self._owed: dict[tuple[str, int], float] = {}

    def kept(self, pool: str, wanted: int) -> list[int]:
        """Return the places kept for each band in a claim of so many."""
        kept = [0]
        for band in range(1, len(BAND_NAMES)):
            owed = self._owed.get((pool, band), 0.0) + wanted * _SHARE
            kept.append(min(int(owed), wanted - sum(kept)))
            self._owed[pool, band] = min(1.0, owed - kept[band])
        return kept

    def share_out(
        self, pool: str, wanted: int, claim: Callable[[int, int], Sequence[T]]
    ) -> list[T]:
        """Claim so many by bands, urgent first, less what is kept; then what that left.

        ``claim(band, limit)`` answers what it got; less than the limit says that the band is empty.
        """
        taken: list[T] = []
        kept = self.kept(pool, wanted)
        waiting = []
        for band in range(len(BAND_NAMES)):
            limit = wanted - len(taken) - sum(kept[band + 1 :])
            found = claim(band, limit) if limit > 0 else ()
            taken += found
            if len(found) >= limit:
                waiting.append(band)
        for band in waiting:
            limit = wanted - len(taken)
            taken += claim(band, limit) if limit > 0 else ()
        return taken
