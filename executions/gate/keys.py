"""Concurrency keys: give due work of tasks that share a key the places that its number allows.

The ledger alone decides, so the loss of Redis, a worker or a scheduler changes nothing: a place is
a mark on an open row, and ends with it. The scheduler runs it after the gate. One session at a time
gives the places of a key, under the key's advisory lock; which one does not matter, so each looks
at the keys that fall to its partitions. Work without a key never comes here.

The work of a key goes in order of due time, then of its task's creation. The first one that finds
too few places holds back the ones behind it, so that no number starves another. In strict order a
run that its tenant's limit of runs keeps from beginning holds them back as well, but not a run that
a run under way waits for: that one may have the place that the limit asks for.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.notify import wake_schedulers_from
from shared.sql import rows, run
from tasks import quotas

#: Keys that one statement reads, and ones whose places one transaction gives.
_CHUNK, _KEYS = 500, 200
#: Keys of one tenant that one look reads; the next look continues after them.
_OF_TENANT = 1000
#: Executions of one key that get their places in one transaction.
_AT_ONCE = 100
#: One look must end long before the partitions have to be renewed.
_SECONDS = 1.0
#: Next look while work waits for a place: a wake-up may be lost.
_WAITING_SECONDS = 1.0
#: Next look when another session gives places of the key, or changes its first work, just now.
_TAKEN_SECONDS = 0.1
_JUST_AFTER = 0.001
_FIRST = UUID(int=0)
#: Behind every key of a tenant.
_LAST = "\U0010ffff"


class Key(NamedTuple):
    """A concurrency key of a tenant."""

    tenant_id: UUID
    key: str

    def partition(self, count: int) -> int:
        """Return the partition whose scheduler looks at it."""
        return zlib.crc32(self.tenant_id.bytes + self.key.encode()) % count


class Due(NamedTuple):
    """Due work that waits for its key; ``most`` is the number that its task allows."""

    id: UUID
    due_at: datetime
    most: int
    fifo: bool
    #: Of its task; its scheduler dispatches it, and may be another than the one of the key.
    partition: int
    #: Whether it is a run of a workflow that needs a place among the runs of its tenant.
    of_tenant: bool = False


#: Before every key of every tenant.
_START = Key(_FIRST, "")


@dataclass(slots=True)
class Seen:
    """The memory of one scheduler between looks; losing it costs no correctness.

    ``after`` is the key behind which the next look begins, ``within`` the same for tenants with
    more keys than one look reads. ``full`` is when a key was last seen without a place: work that
    was due by then has been waiting for its turn.
    """

    after: Key = _START
    #: When the round under way over all keys began.
    began: datetime | None = None
    within: dict[UUID, str] = field(default_factory=dict)
    full: dict[Key, datetime] = field(default_factory=dict)


def admitted(taken: int, due: Sequence[Due]) -> list[Due]:
    """Return which of a key's due work gets a place, beside ``taken`` ones; ``due`` is in order.

    Each obeys its own number, and none is passed by one behind it.
    """
    found: list[Due] = []
    for one in due:
        if taken + len(found) >= one.most:
            break
        found.append(one)
    return found


def run_once(partitions: Partitions, seen: Seen) -> Counts:
    """Give places to due work; return how many executions got one.

    The next call is due when the next work of a key comes due, sooner while one waits.
    """
    if not partitions.ready:
        return Counts(next_in=_WAITING_SECONDS)
    return _Look(partitions, seen).run()


class _Look:
    """One look of a scheduler at the keys that fall to it."""

    def __init__(self, partitions: Partitions, seen: Seen) -> None:
        self._ready = frozenset(partitions.ready)
        self._seen = seen
        self._began = time.monotonic()
        self._now = database_now()
        self._done = 0
        #: When to look again, by the clock of ``_began``: the rest of this look takes time, too.
        self._next: list[float] = []
        self._look_in(conf().scheduler_sleep_seconds)
        #: Whether a run of the tenant may begin, as this look has found it.
        self._has_room: dict[UUID, bool] = {}
        self._first: datetime | None = None
        #: Where the next look continues within tenants that this one has left.
        self._onward: dict[UUID, str] = {}

    def run(self) -> Counts:
        from_start = self._seen.after == _START
        began = self._now if from_start else self._seen.began or self._now
        self._seen.began = began
        for found in self._keys():
            for start in range(0, len(found), _KEYS):
                self._give(found[start : start + _KEYS])
            if time.monotonic() - self._began > _SECONDS:
                self._look_in(0.0)
                break
        else:
            self._seen.after = _START
            # A key that this round has not found full has a place, or no work any more.
            full = self._seen.full
            self._seen.full = {key: at for key, at in full.items() if at >= began}
            if not from_start:
                self._look_in(0.0)
        next_in = max(0.0, min(self._next) - time.monotonic())
        return Counts(done=self._done, next_in=next_in, first=self._first)

    def _keys(self) -> Iterator[list[Key]]:
        """Yield the keys that may get a place now; note when the others may."""
        of_tenant = 0
        while True:
            after = self._seen.after
            given = {"tenant": after.tenant_id, "key": after.key, "limit": _CHUNK}
            read = rows("keys/waiting", given)
            found = list(takewhile(lambda row: row[0] not in self._seen.within, read))
            yield [Key(*row[:2]) for row in found if self._is_open(Key(*row[:2]), *row[2:])]
            if len(found) < len(read):
                tenant = read[len(found)][0]
                self._seen.after, of_tenant = Key(tenant, self._seen.within.pop(tenant)), 0
            elif len(read) < _CHUNK:
                self._seen.within = self._onward
                return
            else:
                last = Key(*read[-1][:2])
                alone = read[0][0] == last.tenant_id == after.tenant_id
                of_tenant = len(read) + (of_tenant if alone else 0)
                self._seen.after = last if of_tenant < _OF_TENANT else self._behind(last)

    def _behind(self, last: Key) -> Key:
        """Return the key where the look continues: its tenant's keys have had their turn."""
        self._onward[last.tenant_id] = last.key
        self._look_in(_TAKEN_SECONDS)
        return Key(last.tenant_id, _LAST)

    def _is_open(self, key: Key, first: datetime, most: int, taken: int) -> bool:
        if key.partition(conf().partition_count) not in self._ready:
            return False
        if first > self._now:
            wait = (first - self._now).total_seconds() + _JUST_AFTER
            self._next.append(self._began + wait)
            return False
        if taken >= most:
            self._wait(key)
            return False
        return True

    def _give(self, keys: Sequence[Key]) -> None:
        if not keys:
            return
        # The races: another scheduler gives places of the key, and the second one sees what the
        # first has committed; an edit, pause or cancel changes the first work, which is waited for.
        with transaction.atomic():
            taken = rows("keys/take", _columns(dict(enumerate(keys))))
            locked = {row[0]: keys[row[0]] for row in taken}
            if len(locked) < len(keys):
                self._look_in(_TAKEN_SECONDS)
            chosen = self._chosen(locked)
            ids = {row[0] for row in rows("keys/lock", _wanted(chosen))}
            self._admit(chosen, ids)

    def _chosen(self, keys: Mapping[int, Key]) -> dict[Key, list[Due]]:
        given = {**_columns(keys), "now": self._now, "limit": _AT_ONCE}
        places: dict[int, int] = {}
        due: dict[int, list[Due]] = {}
        for number, taken, *row in rows("keys/due", given):
            places[number] = taken
            due.setdefault(number, []).append(Due(*row))
        self._hold_back(keys, due)
        found = {}
        for number, waiting in due.items():
            found[keys[number]] = admitted(places[number], waiting)
            if len(found[keys[number]]) < len(waiting):
                self._wait(keys[number])
            elif len(waiting) == _AT_ONCE:
                self._look_in(0.0)
        return found

    def _hold_back(self, keys: Mapping[int, Key], due: dict[int, list[Due]]) -> None:
        """Leave of keys whose first work waits for its tenant only what runs under way wait for."""
        full = {
            number: keys[number]
            for number, waiting in due.items()
            if waiting[0].fifo and waiting[0].of_tenant and not self._may_begin(keys[number])
        }
        for number, key in full.items():
            due[number] = []
            self._wait(key)
        if full:
            given = {**_columns(full), "now": self._now, "limit": _AT_ONCE}
            for number, *row in rows("keys/needed", given):
                due[number].append(Due(*row))

    def _may_begin(self, key: Key) -> bool:
        """Return whether the limits of its tenant leave a run of a workflow a place."""
        found = self._has_room.get(key.tenant_id)
        if found is None:
            found = self._has_room[key.tenant_id] = quotas.leaves_runs(key.tenant_id)
        return found

    def _admit(self, chosen: Mapping[Key, Sequence[Due]], locked: set[UUID]) -> None:
        given: list[tuple[UUID, bool, bool]] = []
        elsewhere: list[datetime] = []
        for key, due in chosen.items():
            full = self._seen.full.get(key)
            for one in due:
                if one.id not in locked:
                    # None may pass it.
                    self._look_in(_TAKEN_SECONDS)
                    break
                given.append((one.id, one.fifo, full is not None and one.due_at <= full))
                self._first = min(self._first or one.due_at, one.due_at)
                if one.partition not in self._ready:
                    elsewhere.append(one.due_at)
        if given:
            ids, fifo, waited = (list(column) for column in zip(*given, strict=True))
            self._done += run("keys/admit", {"ids": ids, "fifo": fifo, "waited": waited})
        # Their schedulers have seen it on hold.
        wake_schedulers_from(min(elsewhere, default=None), self._now)

    def _wait(self, key: Key) -> None:
        self._seen.full[key] = self._now
        self._look_in(_WAITING_SECONDS)

    def _look_in(self, seconds: float) -> None:
        self._next.append(time.monotonic() + seconds)


def _columns(keys: Mapping[int, Key]) -> dict[str, object]:
    return {
        "numbers": list(keys),
        "tenants": [key.tenant_id for key in keys.values()],
        "keys": [key.key for key in keys.values()],
    }


def _wanted(chosen: Mapping[Key, Sequence[Due]]) -> dict[str, object]:
    return {
        "ids": [one.id for due in chosen.values() for one in due],
        "keys": [key.key for key, due in chosen.items() for _ in due],
    }
