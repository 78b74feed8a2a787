"""Due work of a worker that waits for a slot: by priority, and each destination in a lane.

A destination may take as many slots as it leaves free. So a destination that hangs takes half of
them at most, several take a part each, and slots for others are free at any time. Its further work
waits in its lane and delays no other work. Work that waits too long there is handed back, unless
its destination is quick and merely has much work.
"""

from __future__ import annotations

import math
from collections import Counter

from shared.conf import conf
from worker.entries import Held
from worker.start_order import Row, StartOrder

#: How long work waits in its lane before it is handed back, to make room for work that can start.
PATIENCE_SECONDS = 2.0
#: Interval between checks of blocked lanes.
LOOK_SECONDS = 0.25
#: Maximum entries that one pass moves from a lane to the ready work.
_AT_ONCE = 64
#: A check of all waiting work costs by its number, so not every end of a request triggers one.
_OVERDUE_EVERY_SECONDS = 0.05
#: Interval over which the ended requests of a lane are counted for its pace.
_PACE_SECONDS = 0.5


class Lanes:
    """Due work of one worker, and how many slots each destination takes."""

    def __init__(self) -> None:
        self._ready = StartOrder()
        self._blocked: dict[str, StartOrder] = {}
        self._blocked_count = 0
        self._taken: Counter[str] = Counter()
        #: Lanes to which the start guard refused a place, and until when; ``_left`` counts their
        #: requests that have ended since, each of which freed a place.
        self._refused: dict[str, float] = {}
        self._left: Counter[str] = Counter()
        #: Before this moment no work in a lane is overdue.
        self._overdue_from = math.inf
        self._look_from = 0.0
        # The margin of a start counts from when it could begin.
        self._patience = 1.0 - conf().start_margin_seconds + PATIENCE_SECONDS
        #: Ended requests of each lane since ``_measured_at``; ``_pace`` is how many end a second.
        self._ended: Counter[str] = Counter()
        self._measured_at = 0.0
        self._pace: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._ready) + self._blocked_count

    @property
    def blocked(self) -> bool:
        """Whether anything waits in a lane."""
        return bool(self._blocked)

    def put(self, held: Held) -> None:
        """Add work that is due."""
        if held.lane in self._refused:
            self._block(self._row(held))
        else:
            self._ready.push(self._row(held))

    def take(self, free: int, now: float) -> list[Held]:
        """Return the work that may start with ``free`` slots, in order; each takes its slot."""
        self._measure(now)
        self._let_out(free, now)
        starting: list[Held] = []
        while self._ready and len(starting) < free:
            row = self._ready.pop()
            held = row[3]
            if held.lane and self._taken[held.lane] >= max(1, free - len(starting)):
                self._block(row)
                continue
            self._taken[held.lane] += 1
            self._ready.started(held)
            starting.append(held)
        return starting

    def give_back(self, lane: str) -> None:
        """Note that taken work needs its slot no longer."""
        self._taken[lane] -= 1
        if self._taken[lane] <= 0:
            del self._taken[lane]

    def ended(self, lane: str) -> None:
        """Note that a request has ended: another one of its destination may start."""
        self.give_back(lane)
        self._ended[lane] += 1
        if lane in self._refused:
            self._left[lane] += 1

    def refuse(self, held: Held, until: float) -> None:
        """Put work back into its lane: the start guard has no place for it before ``until``."""
        self._refused[held.lane] = until
        self._block(self._row(held))

    def overdue(self, now: float) -> list[Held]:
        """Remove and return work that has waited in its lane for too long, once in a while.

        Work that the lane starts in time at its pace stays: its destination is not slow.
        """
        found: list[Held] = []
        if now <= self._overdue_from or now < self._look_from:
            return found
        self._look_from = now + _OVERDUE_EVERY_SECONDS
        self._overdue_from = math.inf
        for lane, rows in list(self._blocked.items()):
            first = min(row[-1] for row in rows)
            if first < now and now + self._through_in(lane, len(rows)) < first - self._patience:
                self._look_from = now + LOOK_SECONDS
            elif first < now:
                found += [row[3] for row in rows.remove(lambda row: row[-1] < now)]
                first = min((row[-1] for row in rows), default=math.inf)
                if not rows:
                    del self._blocked[lane]
            self._overdue_from = min(self._overdue_from, first)
        self._blocked_count -= len(found)
        return found

    def clear(self) -> list[Held]:
        """Remove and return everything."""
        rows = [*self._ready, *(row for lane in self._blocked.values() for row in lane)]
        self._ready.clear()
        self._blocked.clear()
        self._blocked_count = 0
        return [row[3] for row in rows]

    def _measure(self, now: float) -> None:
        passed = now - self._measured_at
        if passed >= _PACE_SECONDS:
            self._pace = {lane: count / passed for lane, count in self._ended.items()}
            self._ended.clear()
            self._measured_at = now

    def _through_in(self, lane: str, count: int) -> float:
        """Return in how many seconds the last of ``count`` in a lane starts, at the lane's pace."""
        pace = 0.0 if lane in self._refused else self._pace.get(lane, 0.0)
        return count / pace if pace else math.inf

    def _let_out(self, free: int, now: float) -> None:
        """Move work from the lanes to the ready work, as far as its destination's share allows."""
        for lane, rows in list(self._blocked.items()):
            count = min(_AT_ONCE, max(1, free) - self._taken[lane])
            if now < self._refused.get(lane, 0.0):
                count = min(count, self._left.pop(lane, 0))
            else:
                self._refused.pop(lane, None)
                self._left.pop(lane, None)
            count = max(0, min(count, len(rows)))
            self._blocked_count -= count
            for _ in range(count):
                row = rows.pop()
                rows.started(row[3])
                self._ready.push(row)
            if not rows:
                del self._blocked[lane]
        for lane in [lane for lane in self._refused if lane not in self._blocked]:
            del self._refused[lane]
            self._left.pop(lane, None)

    def _block(self, row: Row) -> None:
        lane = row[3].lane
        rows = self._blocked.get(lane)
        if rows is None:
            rows = self._blocked[lane] = StartOrder()
        rows.push(row)
        self._blocked_count += 1
        self._overdue_from = min(self._overdue_from, row[-1])

    def _row(self, held: Held) -> Row:
        patient_until = held.entry["start_by"] / 1000 + self._patience
        return held.due, held.token, held.nonce, held, patient_until
