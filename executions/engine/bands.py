"""How many places of a claim each priority band gets.

Urgent work goes first, but of every claim a share is kept for each lower band, so that none
starves under endless urgent work (B4). Parts of a place add up from claim to claim: also a
saturated pool, which claims one or two at a time, serves every band in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from executions.choices import BAND_NAMES

T = TypeVar("T")

_SHARE = 0.1
#: From the urgent one down.
ALL = tuple(range(len(BAND_NAMES)))


class Bands:
    """The places that lower bands are owed, per pool."""

    def __init__(self) -> None:
        self._owed: dict[tuple[str, int], float] = {}

    def kept(self, pool: str, wanted: int, bands: Collection[int] = ALL) -> list[int]:
        """Return the places kept for each band in a claim of so many; none for those not named."""
        kept = [0]
        for band in ALL[1:]:
            if band not in bands:
                kept.append(0)
                continue
            owed = self._owed.get((pool, band), 0.0) + wanted * _SHARE
            kept.append(min(int(owed), wanted - sum(kept)))
            self._owed[pool, band] = min(1.0, owed - kept[band])
        return kept

    def share_out(
        self,
        pool: str,
        wanted: int,
        claim: Callable[[int, int], tuple[Sequence[T], bool]],
        bands: Collection[int] = ALL,
    ) -> tuple[list[T], bool]:
        """Claim so many by bands, urgent first, less what is kept; then what that left.

        ``claim(band, limit)`` answers what it got, and whether the band may have more. ``bands``
        are those that may have anything. Return what was claimed, and whether any may have more.
        """
        taken: list[T] = []

        def take(band: int, limit: int) -> bool:
            if limit <= 0:
                return True
            found, more = claim(band, limit)
            taken.extend(found)
            return more

        kept = self.kept(pool, wanted, bands)
        waiting = [
            band
            for band in sorted(bands)
            if take(band, wanted - len(taken) - sum(kept[band + 1 :]))
        ]
        waiting = [band for band in waiting if take(band, wanted - len(taken))]
        return taken, bool(waiting)
