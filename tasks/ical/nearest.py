"""Keeps the days or windows that are nearest to today, where there are more than a calendar holds.

Rules without an end give more days than can be kept. Coming days count first, then the latest of
the past ones; a remark names each event that loses some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from tasks.ical.found import Source

#: A day, or start and end; and the same with the event that it comes from.
Span = tuple[Any, ...]
Item = tuple[Any, ...]


class Nearest:
    """Takes any number of days, or of windows, and keeps at most a given number."""

    def __init__(self, today: date, most: int, what: str, why: str) -> None:
        self._today = today
        self._most = most
        self._what = what
        self._why = why
        self._sources: dict[Span, Source] = {}
        self._dropped: Counter[Source] = Counter()

    def add(self, items: Iterable[Item]) -> None:
        """Take some more; of the same item twice the first event with a name counts."""
        for *span, source in items:
            known = self._sources.setdefault(tuple(span), source)
            if not known.name and source.name:
                self._sources[tuple(span)] = source
        if len(self._sources) > 4 * self._most:
            self._drop()

    def kept(self) -> list[Item]:
        """Return the items that are kept, oldest first."""
        self._drop()
        return [(*span, source) for span, source in sorted(self._sources.items())]

    def dropped(self) -> Iterator[tuple[Source, str]]:
        """Yield each event that lost some, and how many; call :meth:`kept` before."""
        starts = [span[0] for span in self._sources]
        where = ""
        if starts:
            where = f"; those from {min(starts):%Y-%m-%d} to {max(starts):%Y-%m-%d} are kept"
        for source, count in self._dropped.items():
            verb = "is" if count == 1 else "are"
            yield source, f"{count} of its {self._what} {verb} left out, since {self._why}{where}"

    def _drop(self) -> None:
        if len(self._sources) <= self._most:
            return
        spans = sorted(self._sources)
        coming = [span for span in spans if span[-1] >= self._today]
        past = [span for span in spans if span[-1] < self._today]
        for span in [*coming, *reversed(past)][self._most :]:
            self._dropped[self._sources.pop(span)] += 1
