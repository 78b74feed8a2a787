"""The gate: admits, skips or delays due work under an overlap policy or a limit.

The scheduler runs it for its partitions, between materialize and dispatch, at the instant that
work comes due; where a budget alone decides, it admits work as early as dispatch releases it.
Tasks without policy, limit and budget never come here. With any number of schedulers, one at a time
decides on a group, under the group's advisory lock, and admits at most as many as the limit allows.
:mod:`~executions.gate.overlap` makes the decision.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.choices import Status, Trigger
from executions.gate import budgets, exchange
from executions.gate.overlap import Decision, Place, Standing, decide, judge
from executions.loop.clocks import database_now
from executions.loop.control import abort_on_commit
from executions.loop.counts import Counts
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.sql import rows, run
from tasks.budgets.purses import Purses, lock_free, read, store
from tasks.choices import BUDGET_EXCEEDED
from tasks.models import Task
from wire import start_guard

log = logging.getLogger("executions.engine.gate")

SKIPPED = "overlap_skipped"
CANCELLED = "overlap_cancelled"
#: Rows of the gated index that one statement reads.
_CHUNK = 2000
#: Groups decided on in one transaction, and executions of one group in it.
_GROUPS, _OF_GROUP = 200, 500
#: One look must end long before the partitions have to be renewed.
_SECONDS = 1.0
#: Next look while work waits for a place: a wake-up may be lost.
_WAITING_SECONDS = 1.0
#: Next look when another session changes or decides on the group in this moment.
_TAKEN_SECONDS = 0.1
_JUST_AFTER = 0.001
_FIRST = UUID(int=0)

Key = tuple[UUID, UUID | None]


@dataclass(slots=True)
class Seen:
    """The memory of one scheduler between looks; losing it costs no correctness.

    ``after`` is the task behind which the next look begins. ``full`` is when a group was last seen
    without a place: work that was due by then has been waiting for its turn.
    """

    after: UUID = _FIRST
    #: When the round under way over all groups began.
    began: datetime | None = None
    full: dict[Key, datetime] = field(default_factory=dict)


class _Group(NamedTuple):
    """Gated work of a task or of one of its bulk jobs, as ``gate/groups`` returns it."""

    task: UUID
    series: UUID | None
    #: How many are due by now, and when the next one is; the same for what dispatch may release.
    due: int
    following: datetime | None
    soon: int
    later: datetime | None
    rows: int
    #: Whether its budget alone decides on it.
    budget_only: bool

    @property
    def key(self) -> Key:
        return self.task, self.series


class _Wanted(NamedTuple):
    """What one transaction is to decide on of a group: ``due`` executions, by ``until``.

    It locks at most ``most`` of them.
    """

    most: int
    due: int
    until: datetime


class _Row(NamedTuple):
    """A due execution, locked."""

    id: UUID
    due_at: datetime
    trigger: str
    gave_way: bool

    @property
    def patient(self) -> bool:
        """Whether it waits for a place under every policy: a workflow's run that was asked for."""
        return self.trigger in _PATIENT


#: What was asked for by a person or by another run waits for its turn, and replaces no other.
_PATIENT = (Trigger.MANUAL, Trigger.RETRY, Trigger.WORKFLOW)


def run_once(partitions: Partitions, seen: Seen | None = None) -> Counts:
    """Decide on due work; return how many executions were admitted or skipped.

    The next call is due at the instant that the next execution comes due, sooner while one waits.
    """
    look = _Look(partitions, seen or Seen())
    if not look.owner["partitions"]:
        return Counts(next_in=_WAITING_SECONDS if partitions.neglected else 5.0)
    counts = look.run()
    exchanged = exchange.run_once(look.owner, look.full, look.now)
    return replace(counts, done=counts.done + exchanged)


def standing(task: Task, series_id: UUID | None = None) -> Standing:
    """Return the occupancy of a task's group, or of the group of one of its bulk jobs."""
    return _standings([(task.id, series_id)])[task.id, series_id]


class _Look:
    """One look of a scheduler at the gated work of its partitions."""

    def __init__(self, partitions: Partitions, seen: Seen) -> None:
        held, ready = partitions.held, set(partitions.ready)
        own = {partition: epoch for partition, epoch in held.items() if partition in ready}
        self.owner: dict[str, object] = {**partitions.parameters(own), "partitions": list(own)}
        self._seen = seen
        self._began = time.monotonic()
        self.now = database_now()
        self._ahead = self.now + timedelta(seconds=conf().release_seconds)
        self._done = 0
        #: When to look again, by the clock of ``_began``: the rest of this look takes time, too.
        self._next: list[float] = []
        self._look_in(conf().scheduler_sleep_seconds)
        #: The earliest due time of the admitted executions.
        self._first: datetime | None = None
        #: Tasks of which due work has found no place.
        self.full: set[UUID] = set()

    def run(self) -> Counts:
        """Go over the groups from where the last look ended."""
        from_start, last = self._seen.after == _FIRST, None
        began = self.now if from_start else self._seen.began or self.now
        self._seen.began = began
        for groups in self._groups(self._seen.after):
            if last and time.monotonic() - self._began > _SECONDS:
                self._seen.after = last
                return self._counts(at_once=True)
            due = self._due(groups)
            for start in range(0, len(due), _GROUPS):
                self._treat(due[start : start + _GROUPS])
            last = groups[-1].task if groups else last
        self._seen.after = _FIRST
        # A group that this round has not found full has a place, or no work any more.
        full = self._seen.full
        self._seen.full = {key: moment for key, moment in full.items() if moment >= began}
        return self._counts(at_once=not from_start)

    def _counts(self, *, at_once: bool = False) -> Counts:
        next_in = 0.0 if at_once else max(0.0, min(self._next) - time.monotonic())
        return Counts(done=self._done, next_in=next_in, first=self._first)

    def _groups(self, after: UUID) -> Iterator[list[_Group]]:
        scope = {"now": self.now, "ahead": self._ahead, "limit": _CHUNK}
        own = {**scope, "partitions": self.owner["partitions"]}
        while True:
            found = [_Group(*row) for row in rows("gate/groups", {**own, "after": after})]
            if sum(group.rows for group in found) < _CHUNK:
                yield found
                return
            after = found[-1].task
            last = rows("gate/groups_of_task", {**scope, "task": after})
            yield [
                *(group for group in found if group.task != after),
                *(_Group(*row) for row in last),
            ]

    def _look_in(self, seconds: float) -> None:
        self._next.append(time.monotonic() + seconds)

    def _look_at(self, moment: datetime | None, before: float = 0.0) -> None:
        """Look again at a moment of the database's clock, or some seconds before it."""
        if moment is not None:
            wait = (moment - self.now).total_seconds() - before
            self._next.append(self._began + max(0.0, wait) + _JUST_AFTER)

    def _due(self, groups: Sequence[_Group]) -> list[tuple[_Group, _Wanted]]:
        """Return the groups with something to decide, and what; note when the others have."""
        ahead = [group.task for group in groups if group.budget_only and group.soon > group.due]
        purses = read(ahead) if ahead else {}
        found = []
        for group in groups:
            left = purses.get(group.task)
            is_early = left.lasts(self._ahead) if left else group.soon == group.due
            if group.budget_only and is_early:
                self._look_at(group.later, conf().release_seconds)
                due, until = group.soon, self._ahead
            else:
                self._look_at(group.following)
                due, until = group.due, self.now
            if due:
                found.append((group, _Wanted(due, due, until)))
        return found

    def _treat(self, groups: Sequence[tuple[_Group, _Wanted]]) -> None:
        """Decide on some groups; lock only where there is something to do."""
        standings = _standings([group.key for group, _ in groups])
        # Tasks with a budget are locked before executions, others after them: never both at once.
        wanted: dict[bool, dict[Key, _Wanted]] = {False: {}, True: {}}
        for group, one in groups:
            found = standings.get(group.key)
            if found is None:
                continue
            expected = decide(found, range(one.due))
            if expected.changes:
                most = _most(found, one.due)
                wanted[found.budgeted][group.key] = one._replace(most=most)
            elif not found.paused:
                self._wait(group.key)
        for budgeted, part in wanted.items():
            if part:
                self._decide(part, budgeted=budgeted)

    def _decide(self, wanted: Mapping[Key, _Wanted], *, budgeted: bool) -> None:
        # The races: another scheduler decides on the same group; an edit, pause or cancel changes
        # the due work. The second one sees what the first has committed.
        with transaction.atomic():
            purses = lock_free({task for task, _ in wanted}) if budgeted else {}
            free = {key: one for key, one in wanted.items() if key[0] in purses or not budgeted}
            locked = self._lock(free)
            standings = _standings(list(locked))
            # An edit that was first may have given the task its budget, or taken it.
            locked = {
                key: due for key, due in locked.items() if standings[key].budgeted == budgeted
            }
            decisions: dict[Key, Decision[_Row]] = {}
            for key, due in locked.items():
                decisions[key] = self._decided(standings[key], due, purses.get(key[0]))
            freed = self._make_room(decisions.values())
            for key, decision in decisions.items():
                places = sum(one.id in freed for one in decision.cancel)
                self._carry_out(key, decision, places, purses.get(key[0]))
            store(purses.values())
        if len(locked) < len(wanted):
            self._look_in(_TAKEN_SECONDS)
        for key, due in locked.items():
            if len(due) == _OF_GROUP:
                self._look_in(0.0)
            elif len(due) < wanted[key].due:
                self._wait(key)

    def _lock(self, wanted: Mapping[Key, _Wanted]) -> dict[Key, list[_Row]]:
        parameters = {
            **self.owner,
            **_columns(wanted),
            "most": [one.most for one in wanted.values()],
            "until": [one.until for one in wanted.values()],
        }
        found: dict[Key, list[_Row]] = {}
        for task, series, *row in rows("gate/lock_due", parameters):
            found.setdefault((task, series), []).append(_Row(*row))
        return found

    def _decided(
        self, standing: Standing, due: Sequence[_Row], purses: Purses | None
    ) -> Decision[_Row]:
        """Return the decision on due work; skip at once what the task's budget does not allow.

        What its policy skips anyway takes nothing of the budget from the rest.
        """
        if purses is None or standing.paused:
            return judge(standing, self._come(due))
        if not standing.budget_only or not purses.lasts(self._ahead):
            due = self._come(due)
        anyway = judge(standing, due).skip if purses.room else ()
        out = {row.id for row in anyway}
        within, beyond = budgets.split(purses, [row for row in due if row.id not in out])
        if beyond := self._come(beyond):
            self._done += len(transitions.skip([row.id for row in beyond], BUDGET_EXCEEDED))
            purses.has_skipped = True
        found = judge(standing, within)
        return replace(found, skip=[*anyway, *found.skip])

    def _come(self, due: Sequence[_Row]) -> list[_Row]:
        """Return the rows whose instant has come; note when to look at the others."""
        ahead = [row.due_at for row in due if row.due_at > self.now]
        self._look_at(min(ahead, default=None))
        return [row for row in due if row.due_at <= self.now]

    def _carry_out(
        self, key: Key, decision: Decision[_Row], freed: int, purses: Purses | None
    ) -> None:
        admitted = [*decision.admit, *decision.wait[:freed]]
        waited_until = self._seen.full.get(key)
        if admitted:
            if purses is not None:
                budgets.count(purses, admitted)
            ids = [row.id for row in admitted]
            dues = [row.due_at for row in admitted]
            self._first = min(dues if self._first is None else [*dues, self._first])
            self._done += run(
                "gate/admit",
                {
                    "ids": ids,
                    "waited": [
                        waited_until is not None and row.due_at <= waited_until for row in admitted
                    ],
                },
            )
        self._done += len(transitions.skip([row.id for row in decision.skip], SKIPPED))
        if decision.wait[freed:]:
            self._wait(key)

    def _wait(self, key: Key) -> None:
        self._seen.full[key] = self.now
        if key[1] is None:
            self.full.add(key[0])
        self._look_in(_WAITING_SECONDS)

    def _make_room(self, decisions: Iterable[Decision[_Row]]) -> set[UUID]:
        """End executions to free their places: unstarted ones at once, running ones on request."""
        ids = [place.id for decision in decisions for place in decision.cancel]
        if not ids:
            return set()
        found = rows("gate/lock_places", {"ids": ids})
        released = [row for row in found if row[1] == Status.QUEUED]
        try:
            holders = start_guard.void([token for _, _, token in released])
        except Unavailable as error:
            log.warning("overlap.not_cancelled", extra={"reason": error.message})
            return set()
        started = [(row, by) for row, by in zip(released, holders, strict=True) if by]
        transitions.mark_running([(row[0], row[2], by, self.now) for row, by in started])
        running = [row for row in found if row[1] == Status.RUNNING] + [row for row, _ in started]
        asked = set(transitions.request_cancel([row[0] for row in running], CANCELLED))
        abort_on_commit([row[2] for row in running if row[0] in asked])
        waiting = [(row[0], row[2]) for row in found if row not in running]
        return set(transitions.cancel(waiting, CANCELLED))


def _most(standing: Standing, due: int) -> int:
    """Return how many due executions to lock: the ones that find a place, or all."""
    if standing.policy in ("allow", "queue_all"):
        return min(_OF_GROUP, standing.room(due))
    return _OF_GROUP


def _standings(keys: Sequence[Key]) -> dict[Key, Standing]:
    found: dict[Key, list[Place]] = {}
    rules: dict[Key, tuple[str, int | None, bool]] = {}
    budgeted: set[Key] = set()
    for task, series, *rule, has_budget, execution, status, token, cancelling, retries in rows(
        "gate/standings", _columns(keys)
    ):
        places = found.setdefault((task, series), [])
        rules[task, series] = (rule[0], rule[1], rule[2])
        if has_budget:
            budgeted.add((task, series))
        if execution is not None:
            places.append(Place(execution, status, token, cancelling, retries))
    return {
        key: Standing(*rules[key], tuple(places), key in budgeted) for key, places in found.items()
    }


def _columns(keys: Iterable[Key]) -> dict[str, object]:
    keys = list(keys)
    return {"tasks": [task for task, _ in keys], "series": [series for _, series in keys]}
