"""What is due in a worker and waits for a slot: by priority, but each destination in a lane.

A destination may take as many slots as it leaves free. So one that hangs takes half of them at
most, several take a part each, and slots for others are free at any time. What it may not start
waits in its lane and holds up nothing behind it; waiting too long there, it is handed back, unless
its destination is quick and there is only much of it.
"""

from __future__ import annotations

import math
from collections import Counter

from shared.conf import conf
from worker.entries import Held
from worker.start_order import Row, StartOrder

#: How long work waits in its lane before it is handed back, to make room for what can start.
PATIENCE_SECONDS = 2.0
#: How often lanes are looked at in which something waits.
LOOK_SECONDS = 0.25
#: So many of a lane are let out at a time.
_AT_ONCE = 64
#: A look at all that waits costs by its number: not at every end of a request.
_OVERDUE_EVERY_SECONDS = 0.05
#: Over how long it is measured how many requests of a lane end.
_PACE_SECONDS = 0.5


class Lanes:
    """Due work of one worker, and how many slots each destination takes."""

    def __init__(self) -> None:
        self._ready = StartOrder()
        self._blocked: dict[str, StartOrder] = {}
        self._blocked_count = 0
        self._taken: Counter[str] = Counter()
        #: Lanes that the start guard has no place for until a moment, but for those that left.
        self._refused: dict[str, float] = {}
        self._left: Counter[str] = Counter()
        #: The moment before which nothing that waits in a lane has waited too long.
        self._overdue_from = math.inf
        self._look_from = 0.0
        # The margin of a start counts from when it could begin.
        self._patience = 1.0 - conf().start_margin_seconds + PATIENCE_SECONDS
        #: Requests of each lane that have ended since a moment; how many do in a second.
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
        """Return what may start with so many slots free, in order; each takes its slot."""
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
        """Note that what was taken needs its slot no longer."""
        self._taken[lane] -= 1
        if self._taken[lane] <= 0:
            del self._taken[lane]

    def ended(self, lane: str) -> None:
        """Note that a request has ended: another of its destination may go."""
        self.give_back(lane)
        self._ended[lane] += 1
        if lane in self._refused:
            self._left[lane] += 1

    def refuse(self, held: Held, until: float) -> None:
        """Take back what the start guard has no place for before a moment."""
        self._refused[held.lane] = until
        self._block(self._row(held))

    def overdue(self, now: float) -> list[Held]:
        """Remove and return what has waited in its lane for too long, once in a while.

        What the lane gets to in time at its pace stays: it is not the destination that is slow.
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
        """Return in how many seconds the last of so many of a lane begins, at its pace."""
        pace = 0.0 if lane in self._refused else self._pace.get(lane, 0.0)
        return count / pace if pace else math.inf

    def _let_out(self, free: int, now: float) -> None:
        """Move what may go by its destination's share back to what is ready."""
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
