"""Due work of a worker that waits for a slot: by tenants' shares, and each destination in a lane.

A destination may take as many slots as it leaves free. So a destination that hangs takes half of
them at most, several take a part each, and slots for others are free at any time. While another
tenant has work that waits, too, a destination may take more, until its tenant has its share of all
slots: the slots times its weight, divided by the weights of the tenants with waiting work. So
tenants with few destinations start in proportion to their weights, and no slot stays idle between
them. A tenant's destinations have this share together, not each.

Further work of a destination waits in its lane and delays no other work. Work that waits too long
there is handed back, unless its destination is quick and merely has much work.

A tenant's programs, and its handlers, are a lane, too: more are started than can run, and wait for
a process, so that without a limit those of one tenant would take every slot. They are not handed
back. Of a tenant's other work at most the slots that are kept for other tenants are left out.
"""

from __future__ import annotations

import math
from collections import Counter

from shared.conf import conf
from shared.fair_order import FairOrder, PriorityOrder
from shared.slot_shares import SlotShares, kept_of
from wire.priorities import SHARE
from worker.entries import Held

#: Due time, token and nonce order work of the same priority; the last field is until when it waits
#: in its lane.
Row = tuple[float, int, int, Held, float]

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
#: How long a sum of weights serves: it costs by the number of tenants with waiting work.
_WEIGHED_SECONDS = 0.05


class _Lane(PriorityOrder[Row]):
    """Work of one destination, or of a tenant's processes; ``step`` is that of the latest work."""

    __slots__ = ("process", "step", "tenant")

    def __init__(self, held: Held) -> None:
        super().__init__(SHARE)
        self.tenant, self.process, self.step = held.tenant, held.process, held.step


class Lanes:
    """Due work of one worker, and how many slots each tenant and each destination takes."""

    def __init__(self) -> None:
        kept = kept_of(conf().worker_capacity)
        self._ready: FairOrder[Row] = FairOrder(SHARE, kept)
        self._shares = SlotShares(kept)
        self._slots = conf().worker_capacity
        #: The slots that a lane may always have.
        self._least = {"": 1, "command": conf().command_slots, "handler": conf().handler_slots}
        self._blocked: dict[str, _Lane] = {}
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
        #: The weights of the tenants with waiting work, their sum, and when they were read.
        self._weights: dict[str, float] = {}
        self._weight = 0.0
        self._weighed_at = -math.inf

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
            self._to_ready(self._row(held))

    def take(self, free: int, now: float) -> list[Held]:
        """Return the work that may start with ``free`` slots, in order; each takes its slot."""
        self._measure(now)
        self._let_out(free, now)
        starting: list[Held] = []
        ready, shares, taken = self._ready, self._shares, self._taken
        while (left := free - len(starting)) > 0 and (tenant := ready.first()) is not None:
            if not shares.may_take(tenant, left, now):
                ready.set_aside()
                continue
            row = ready.pop()
            held = row[3]
            if (
                held.lane
                and taken[held.lane] >= max(self._least[held.process], left)
                and self._below_share(held, now) <= 0
            ):
                self._block(row)
                continue
            taken[held.lane] += 1
            shares.take(tenant, now)
            ready.started()
            starting.append(held)
        ready.restore()
        return starting

    def give_back(self, held: Held) -> None:
        """Note that taken work needs its slot no longer."""
        self._shares.give_back(held.tenant)
        self._taken[held.lane] -= 1
        if self._taken[held.lane] <= 0:
            del self._taken[held.lane]

    def ended(self, held: Held) -> None:
        """Note that a request has ended: another one of its destination may start."""
        self.give_back(held)
        self._ended[held.lane] += 1
        if held.lane in self._refused:
            self._left[held.lane] += 1

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
        """Move work from the lanes to the ready work, as far as :meth:`take` would start it."""
        for lane, rows in list(self._blocked.items()):
            most = min(_AT_ONCE, len(rows))
            count = max(self._least[rows.process], free) - self._taken[lane]
            if count < most:
                count = max(count, self._below_share(rows, now))
            count = min(most, count)
            if now < self._refused.get(lane, 0.0):
                count = min(count, self._left.pop(lane, 0))
            else:
                self._refused.pop(lane, None)
                self._left.pop(lane, None)
            count = max(0, count)
            self._blocked_count -= count
            for _ in range(count):
                row = rows.pop()
                rows.started()
                self._to_ready(row)
            if not rows:
                del self._blocked[lane]
        for lane in [lane for lane in self._refused if lane not in self._blocked]:
            del self._refused[lane]
            self._left.pop(lane, None)

    def _below_share(self, work: Held | _Lane, now: float) -> int:
        """Return how many slots the tenant of a lane at its limit lacks to its share of all slots.

        0 where no other tenant has waiting work, and for processes, whose limit is their own.
        """
        if work.process:
            return 0
        if not 0.0 <= now - self._weighed_at < _WEIGHED_SECONDS:
            self._weigh(now)
        others = self._weight - self._weights.get(work.tenant, 0.0)
        if others <= 0.0:
            return 0
        weight = 1.0 / work.step
        # Rounded up, so that shares that are no whole number leave no slot idle.
        share = math.ceil(self._slots * weight / (weight + others))
        return share - self._shares.taken(work.tenant)

    def _weigh(self, now: float) -> None:
        """Read the weights of the tenants with work that waits for a slot.

        Work that the start guard refuses waits for its destination, work of a blocked process for a
        process: more slots would not help either.
        """
        steps = dict(self._ready.steps())
        for lane, rows in self._blocked.items():
            if not rows.process and now >= self._refused.get(lane, 0.0):
                steps[rows.tenant] = rows.step
        self._weights = {tenant: 1.0 / step for tenant, step in steps.items()}
        self._weight = sum(self._weights.values())
        self._weighed_at = now

    def _to_ready(self, row: Row) -> None:
        held = row[3]
        self._ready.push(held.tenant, held.step, held.priority, row)

    def _block(self, row: Row) -> None:
        held = row[3]
        rows = self._blocked.get(held.lane)
        if rows is None:
            rows = self._blocked[held.lane] = _Lane(held)
        rows.step = held.step
        rows.push(held.priority, row)
        self._blocked_count += 1
        self._overdue_from = min(self._overdue_from, row[-1])

    def _row(self, held: Held) -> Row:
        patient_until = math.inf
        if not held.process:
            patient_until = held.entry["start_by"] / 1000 + self._patience
        return held.due, held.token, held.nonce, held, patient_until
