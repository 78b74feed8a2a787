"""Divide the places of a claim among the priority bands, and keep some for the oldest work.

Urgent work goes first, but every claim keeps a share for each lower band, so that no band starves
under endless urgent work. Within a band the lower number goes first, except for one place in ten,
which goes to the oldest work. Parts of a place add up from claim to claim: a saturated pool, which
claims one or two at a time, also serves all work in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from wire.priorities import BAND_NAMES, PRIORITIES, SHARE, band_of

T = TypeVar("T")
#: Priorities in order, and since when the first of each is due.
Heads = Sequence[tuple[int, datetime]]

#: From the urgent one down.
ALL = tuple(range(len(BAND_NAMES)))
#: Maximum number of remembered keys: the keys of destinations come and go.
_MOST_KEYS = 10_000


def priorities_of(band: int, among: Collection[int] = PRIORITIES) -> list[int]:
    """Return the priorities of a band, the first one first."""
    return [priority for priority in sorted(among) if band_of(priority) == band]


class Tenths:
    """One place in ten for the oldest work of each key, counted from claim to claim."""

    def __init__(self) -> None:
        self._owed: dict[Hashable, int] = {}

    def of(self, key: Hashable, wanted: int) -> int:
        """Return how many of the wanted places are for the oldest work."""
        if len(self._owed) >= _MOST_KEYS:
            self._owed.clear()
        places, self._owed[key] = divmod(self._owed.get(key, 0) + wanted, SHARE)
        return places


class Bands:
    """The places that lower bands and the oldest work are owed, per pool."""

    def __init__(self) -> None:
        #: In parts of a place, of which ten are one.
        self._owed: dict[tuple[str, int], int] = {}
        self._tenths = Tenths()

    def oldest(
        self, pool: str, wanted: int, priorities: Sequence[int], heads: Callable[[], Heads]
    ) -> dict[str, Any]:
        """Return the parameters of a claim of a band: its priorities, and the places of its oldest.

        Calls ``heads`` only when there are such places: a single priority, which is in order of
        time, has none. ``eldest`` has no priority where the order begins with the oldest.
        """
        places = 0
        if len(priorities) > 1:
            places = self._tenths.of((pool, band_of(priorities[0])), wanted)
        firsts = heads() if places else ()
        eldest = min(firsts, key=lambda head: head[1])[0] if firsts else None
        if firsts and eldest == firsts[0][0]:
            eldest = None
        return {"priorities": priorities, "oldest": places, "eldest": [eldest]}

    def kept(self, pool: str, wanted: int, bands: Collection[int] = ALL) -> list[int]:
        """Return the places kept for each band in a claim of ``wanted``; 0 for bands not named."""
        kept = [0]
        for band in ALL[1:]:
            if band not in bands:
                kept.append(0)
                continue
            owed = self._owed.get((pool, band), 0) + wanted
            kept.append(min(owed // SHARE, wanted - sum(kept)))
            self._owed[pool, band] = min(SHARE, owed - SHARE * kept[band])
        return kept

    def share_out(
        self,
        pool: str,
        wanted: int,
        claim: Callable[[int, int], tuple[Sequence[T], bool]],
        bands: Collection[int] = ALL,
    ) -> tuple[list[T], bool]:
        """Claim ``wanted`` by bands, urgent first, less the kept places; then claim the rest.

        ``claim(band, limit)`` returns its rows, and whether the band may have more. ``bands`` are
        the bands that may have work. Return the claimed rows, and whether any band may have more.
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
