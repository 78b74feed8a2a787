"""Stage 4: outcomes become states, attempts, retries and dead letters, in batches.

Run by recorders, which share the outcome stream. A batch is acknowledged after its transaction
has committed: a recorder that dies before leaves it to another, and the token makes the repeat
harmless. A stale outcome changes nothing and is counted; one that cannot be stored is set aside.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import orjson
from django.db import DataError, IntegrityError, transaction

from executions.choices import Status
from executions.engine import guard, progress, refusals, transitions
from executions.engine.clocks import ClockOffset
from executions.engine.counts import Counts
from executions.engine.outcome_stream import Entry, OutcomeConsumer, set_aside
from executions.engine.said import NONSENSE, Accepted, Deferred, Release, Said, Start, understand
from executions.engine.transitions import Finish
from shared.conf import conf
from shared.notify import wake_schedulers_in

log = logging.getLogger(__name__)

#: Entries per read. An entry is at most about a megabyte.
_ENTRIES = 40
#: After a batch the next is waited for so long for each that it held: a single one hardly at all.
_GATHER_EACH_SECONDS = 0.02
#: After so many failures in a row one entry is tried at a time: the batch may be too much.
_SMALLER_AFTER = 3


@dataclass(slots=True)
class Recorder:
    """One of the recorders."""

    name: str
    block_seconds: float = 2.0
    offset: ClockOffset = field(default_factory=ClockOffset)
    stream: OutcomeConsumer = field(init=False)
    _failures: int = 0

    def __post_init__(self) -> None:
        self.stream = OutcomeConsumer(self.name, self.block_seconds)

    def run_once(self) -> Counts:
        """Record one batch of outcomes; block a moment when there is none."""
        entries = self.stream.read(_ENTRIES if self._failures < _SMALLER_AFTER else 1)
        if not entries:
            return Counts(done=0, next_in=0.0)
        # Back to zero only at the end: whatever is raised below counts.
        self._failures += 1
        said = list(_understood(entries, self.offset.seconds()))
        done = refused = 0
        for start in range(0, len(said), conf().recorder_batch):
            moved, stale = _record_storable(said[start : start + conf().recorder_batch])
            done, refused = done + moved, refused + stale
        self.stream.acknowledge(entries)
        guard.settle([one.token for one in said if isinstance(one, Finish)])
        refusals.note(refusals.OUTCOMES, refused)
        self._failures = 0
        return Counts(done=done, next_in=_gather_seconds(len(said)), refused=refused)


def _gather_seconds(count: int) -> float:
    """Return how long the next outcomes are gathered: a batch costs much, whatever its size."""
    if count >= conf().outcome_batch:
        return 0.0
    return min(conf().recorder_gather_seconds, count * _GATHER_EACH_SECONDS)


def record(said: Sequence[Said]) -> tuple[int, int]:
    """Write what workers said in one transaction; return how many moved and were refused."""
    # In the order of their ids, as every recorder locks them.
    said = sorted(said, key=attrgetter("execution_id"))
    ended = {one.token: one for one in said if isinstance(one, Finish)}
    started = [one for one in said if isinstance(one, Start) and one.token not in ended]
    with transaction.atomic():
        transitions.mark_running(started)
        transitions.accept([one for one in said if isinstance(one, Accepted)])
        progress.note(said)
        released = transitions.release([one for one in said if isinstance(one, Release)])
        released += transitions.defer([one for one in said if isinstance(one, Deferred)])
        finished = transitions.finish(list(ended.values()))
        # A short retry must not wait for the schedulers' sleep.
        waits = [one.retry_in for one in ended.values() if one.status == Status.RETRYING]
        if waits or released:
            wake_schedulers_in(0.0 if released else min(waits))
    return len(finished), len(ended) - len(finished)


def _understood(entries: Sequence[Entry], offset: float) -> Iterator[Said]:
    """Yield what the entries say; what makes no sense is set aside, the rest goes on."""
    for entry in entries:
        if entry.data is None:
            continue  # recorded and deleted by another recorder
        try:
            rows = list(orjson.loads(entry.data)["outcomes"])
        except NONSENSE as error:
            set_aside(entry.data, f"no entry of outcomes: {error!r}")
            continue
        for row in rows:
            try:
                yield understand(row, offset)
            except NONSENSE as error:
                set_aside(row, f"no outcome: {error!r}")


def _record_storable(said: Sequence[Said]) -> tuple[int, int]:
    """Record; when the database refuses a value, halve the batch until it stands alone."""
    try:
        return record(said)
    except (DataError, IntegrityError) as error:
        if len(said) == 1:
            set_aside(repr(said[0]), f"cannot be stored: {error}")
            return 0, 0
    middle = len(said) // 2
    first, second = _record_storable(said[:middle]), _record_storable(said[middle:])
    return first[0] + second[0], first[1] + second[1]
