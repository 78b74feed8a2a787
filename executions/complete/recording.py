"""Write the workers' reports into the ledger, in batches; one bad report does not stop the others.

The complete stage uses it. A stale outcome changes nothing and is counted. An outcome that cannot
be stored is set aside. A report on a row that another session keeps locked waits, and blocks no
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from uuid import UUID

from django.db import DataError, IntegrityError, OperationalError, transaction
from psycopg import errors

from executions import transitions
from executions.choices import Status
from executions.complete import progress
from executions.complete.outcome_reports import Accepted, Deferred, Release, Said, Start
from executions.complete.outcome_stream import set_aside
from executions.ledger import days
from executions.transitions import Finish
from shared.conf import conf
from shared.notify import wake_schedulers_in
from shared.sql import rows

#: Another session keeps a row locked for long, or two sessions wait for each other's rows.
_LOCKED = (errors.LockNotAvailable, errors.DeadlockDetected)


@dataclass(slots=True)
class Recorded:
    """Counts of recorded and stale outcomes, and the executions not recorded: locked rows."""

    done: int = 0
    refused: int = 0
    locked: set[UUID] = field(default_factory=set)
    #: Tokens that no later call needs at the start guard.
    settled: list[int] = field(default_factory=list)


def record_in_batches(said: Sequence[Said]) -> Recorded:
    """Record all reports, one transaction per batch; return the total."""
    result = Recorded()
    for start in range(0, len(said), conf().recorder_batch):
        _record_storable(said[start : start + conf().recorder_batch], result)
    result.settled = [
        one.token
        for one in said
        if isinstance(one, Finish | Accepted) and one.execution_id not in result.locked
    ]
    return result


def _record(said: Sequence[Said]) -> tuple[int, int]:
    """Record in one transaction; return how many attempts ended and how many were stale."""
    # In the order of their ids, as every recorder locks them.
    said = sorted(said, key=attrgetter("execution_id.int"))
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


def _record_storable(said: Sequence[Said], result: Recorded) -> None:
    """Record; when the database refuses a value, halve the batch until the value is alone."""
    try:
        moved, stale = _record(said)
    except OperationalError as error:
        if not isinstance(error.__cause__, _LOCKED):
            raise
        moved, stale = _record_free(said, result)
    except (DataError, IntegrityError) as error:
        if not days.blames_a_value(error):
            # A day without a table: the next read of these outcomes finds the table made.
            raise
        if len(said) > 1:
            middle = len(said) // 2
            _record_storable(said[:middle], result)
            _record_storable(said[middle:], result)
            return
        set_aside(repr(said[0]), f"cannot be stored: {error}")
        return
    result.done += moved
    result.refused += stale


def _record_free(said: Sequence[Said], result: Recorded) -> tuple[int, int]:
    """Record reports on free rows without waiting for locks; note the locked rows."""
    ids = sorted({one.execution_id for one in said})
    with transaction.atomic():
        found = rows("complete/lock_free", {"ids": ids})
        locked = {row[0] for row in found}
        counts = _record([one for one in said if one.execution_id not in locked])
    result.locked |= locked
    return counts
