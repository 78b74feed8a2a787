"""Lower bounds from which a loop looks for its next work, past the entries of finished work.

An index of time keeps entries of finished work until they can be cleaned up. A transaction that
stays open prevents that, and each look would step over all of them. So a loop remembers where its
last look ended. It trusts a bound only where a look without one has become slow. Then it looks at
the range below part by part, so that no look is long and no work stays hidden. During a long look
the scheduler does nothing else, and its lease runs out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

NEVER = datetime.min.replace(tzinfo=UTC)
ALWAYS = datetime.max.replace(tzinfo=UTC)
#: A loop whose looks without bounds take less uses no bounds.
_CHEAP_SECONDS = 0.005
#: How long the look at a part should take, and the share of the time that such looks may take:
#: mostly, and once after work may have been written anywhere below.
_PART_SECONDS, _SHARE, _HURRIED_SHARE = 0.02, 0.05, 0.5
_FIRST_STEP = timedelta(seconds=1)
_SHORTEST_STEP, _LONGEST_STEP = timedelta(milliseconds=10), timedelta(minutes=1)
#: A part that was not read before costs ten times as much as one that the last round has read, so a
#: step that was right for the part before may be far too long. The look at a part is cut off after
#: this time.
_MOST_SECONDS = 0.1
_SHORTER = 8
#: The end of the first part, below which there is little finished work, moves down by at least the
#: first after a cut, and goes as far as the second.
_ORIGIN_STEP, _FARTHEST = timedelta(minutes=10), timedelta(days=365)
#: Others mostly write work that is due then, and never work that was due longer ago than this.
_RECENT = timedelta(seconds=10)


class LowerBounds:
    """One bound, or one for each of several orders, of one loop; not shared between threads.

    ``since`` are the moments from which on a look searches. Between ``begin`` and ``end`` a look
    searches for the first of each order from those moments on, locked or not. Where ``part``
    returns a part, it also searches for the first in that part, for at most ``limit`` seconds, and
    reports with ``swept`` or ``cut_off``.
    """

    def __init__(self, count: int = 1) -> None:
        self._found = [NEVER] * count
        #: The database's time of the last look.
        self.now = NEVER
        #: Whether looks without bounds are slow, and whether one look has searched everything.
        self.in_force = False
        self.known = False
        self._began = 0.0
        self._scope: object = None
        #: Below this is little finished work; above, parts are short enough for a quick look.
        self._origin = NEVER
        #: Up to here work may be hidden.
        self._highest = NEVER
        self._part = (NEVER, NEVER)
        self._step = _FIRST_STEP
        self._cost = 0.0
        self._next_at = 0.0
        self._hurried = self._again = False

    @property
    def since(self) -> Sequence[datetime]:
        """The bounds, or moments before everything while they are not in force."""
        return self._found if self.in_force and self.known else [NEVER] * len(self._found)

    @property
    def next_in(self) -> float:
        """Seconds until the look at a part, which finds work that the bounds hide."""
        return max(0.0, self._next_at - time.monotonic()) if self.in_force else float("inf")

    def begin(self, scope: object = None) -> Sequence[datetime]:
        """Return where to look from; ``forget`` where ``scope``, the look's subject, changed."""
        if scope != self._scope:
            self.forget()
            self._scope = scope
        self._began = time.monotonic()
        return self.since

    def end(self, found: Sequence[datetime], now: datetime) -> None:
        """Note the first of each order that the look found, and the database's time of it.

        An order without a find has a moment before which no work will be written unheard.
        """
        self._found, self.now = list(found), now
        self._highest = max(self._highest, *found)
        if not self.in_force and time.monotonic() - self._began >= _CHEAP_SECONDS:
            self.in_force, self._origin = True, min(found)
            self._restart()
        self.known = True

    def part(self) -> tuple[datetime, datetime] | None:
        """Return the part below the bounds to look at now, its end not included; or None."""
        if not self.in_force or not self.known or self.next_in:
            return None
        begin = self._part[1]
        end = self._origin if begin == NEVER else begin + self._step
        self._part = (begin, min(end, self._highest))
        self._began = time.monotonic()
        return self._part

    @property
    def limit(self) -> float | None:
        """Seconds after which to cut off the look at a part; None where no part can be shorter."""
        if self._part[0] == NEVER:
            shortest = self._origin <= self._highest - _FARTHEST
        else:
            shortest = self._step <= _SHORTEST_STEP
        return None if shortest else _MOST_SECONDS

    def cut_off(self) -> None:
        """Note that the look at the part was cut off: a shorter one begins where it began."""
        self._spend()
        begin = self._part[0]
        if begin == NEVER:
            way = self._highest - self._origin
            self._origin = self._highest - min(_FARTHEST, way + max(_ORIGIN_STEP, way))
        else:
            self._step = max(_SHORTEST_STEP, self._step / _SHORTER)
        self._part = (begin, begin)

    def swept(self, first: Sequence[datetime | None]) -> None:
        """Note the first of each order in the part, None for an order without a find."""
        cost = self._spend()
        if self._part[0] != NEVER:
            step = self._step * min(2.0, max(0.5, _PART_SECONDS / max(cost, 1e-6)))
            self._step = min(_LONGEST_STEP, max(_SHORTEST_STEP, step))
        pairs = zip(self._found, first, strict=True)
        self._found = [min(found, one or found) for found, one in pairs]
        if self._part[1] >= self._highest:
            self.in_force = self._cost >= _CHEAP_SECONDS
            self._hurried, self._again = self._again, False
            self._restart()

    def _spend(self) -> float:
        """Return the seconds that the look at the part took; the next waits a multiple of them."""
        ended = time.monotonic()
        cost = ended - self._began
        self._cost += cost
        self._next_at = ended + cost / (_HURRIED_SHARE if self._hurried else _SHARE)
        return cost

    def lower(self, moment: datetime) -> None:
        """Note that work was written that comes at this moment."""
        self._found = [min(found, moment) for found in self._found]

    def heard(self, first: datetime | None = None) -> None:
        """Note that others wrote work that comes at ``first``; None: it mostly comes now."""
        if first is not None:
            self.lower(first)
        elif self.now != NEVER:
            self.lower(self.now - _RECENT)

    def forget(self) -> None:
        """Look at everything once more: with the next look or, where that is slow, soon, in parts.

        The next look searches for work that was written just now in any case.
        """
        if not (self.in_force and self.known):
            self.known = False
            return
        self.heard()
        if self._hurried:
            # A restart each time would never reach the last part.
            self._again = True
        else:
            self._hurried, self._next_at = True, 0.0
            self._restart()

    def _restart(self) -> None:
        self._part, self._cost = (NEVER, NEVER), 0.0
