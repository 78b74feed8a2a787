"""From where on a loop looks for what comes next, while what is done lies in front of it.

An index of time keeps an entry of what is done until that can be cleaned away; beside a transaction
that stays open that is never, and each look would step over all of it. So a loop remembers where
its last look ended. A bound is only trusted where looking without one has become dear, and never
for long: a look without it follows after twenty times what the last one took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

NEVER = datetime.min.replace(tzinfo=UTC)
#: A look without bounds that takes less is always made without.
_CHEAP_SECONDS = 0.005
#: The share of the time that dearer ones may take.
_SHARE = 0.05
#: Work that others write is mostly due when they write it, and never by so much before.
_RECENT = timedelta(seconds=10)


class LowerBounds:
    """One bound, or one for each of several orders, of one loop; not shared between threads.

    ``since`` are the moments before which nothing is looked for. A look asks between ``begin`` and
    ``end`` for the first of each order from those moments on, whoever may hold its lock.
    """

    def __init__(self, count: int = 1) -> None:
        self._found = [NEVER] * count
        #: The database's time of the last look.
        self.now = NEVER
        self._whole = True
        self._began = 0.0
        self._cost = 0.0
        self._whole_at = 0.0
        self._scope: object = None

    @property
    def in_force(self) -> bool:
        """Whether a look without bounds is dear."""
        return self._cost >= _CHEAP_SECONDS

    @property
    def since(self) -> Sequence[datetime]:
        """The bounds, or moments before everything while they are not in force."""
        return self._found if self.in_force else [NEVER] * len(self._found)

    @property
    def whole_in(self) -> float:
        """Seconds until a look without bounds is wanted, which finds what they hide."""
        return max(0.0, self._whole_at - time.monotonic()) if self.in_force else float("inf")

    def begin(self, scope: object = None) -> Sequence[datetime]:
        """Return from where to look; from the first on where ``scope``, what is asked, changed."""
        if scope != self._scope:
            self.forget()
            self._scope = scope
        self._began = time.monotonic()
        self._whole = self._began >= self._whole_at
        return [NEVER] * len(self._found) if self._whole else self._found

    def end(self, found: Sequence[datetime], now: datetime) -> None:
        """Note the first of each order that the look found, and the database's time of it.

        Where nothing was found a moment counts before which nothing will be written unheard.
        """
        if self._whole:
            ended = time.monotonic()
            self._cost = ended - self._began
            self._whole_at = ended + self._cost / _SHARE if self.in_force else 0.0
        self._found, self.now = list(found), now

    def lower(self, moment: datetime) -> None:
        """Note that something is written that comes at this moment."""
        self._found = [min(found, moment) for found in self._found]

    def heard(self, first: datetime | None = None) -> None:
        """Note that others have written what comes at ``first``; unknown, it mostly comes now."""
        if first is not None:
            self.lower(first)
        elif self.now != NEVER:
            self.lower(self.now - _RECENT)

    def forget(self) -> None:
        """Look from the very first on with the next look."""
        self._found = [NEVER] * len(self._found)
        self._whole_at = 0.0
