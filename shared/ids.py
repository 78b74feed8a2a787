"""Ids: derived where an occurrence must be the same row for everyone, random elsewhere.

An execution's id is a UUID of version 8 (RFC 9562): 48 bits of the nominal millisecond, then a
hash of task, nominal time and series. The same occurrence has the same id on every scheduler,
and ids sort and partition by time.
"""

from __future__ import annotations

import hashlib
import os
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LOW_BITS = 80
_LATEST_PREFIX = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // _MILLISECOND
# Version and variant of an id, and the bits that are neither (RFC 9562).
_STAMPS = {version: (version << 76) | (0x2 << 62) for version in (7, 8)}
_UNSTAMPED = ~((0xF << 76) | (0x3 << 62))
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
#: Series of the occurrences that a schedule makes.
SCHEDULE_SERIES = "schedule"


def milliseconds(moment: datetime) -> int:
    """Return whole milliseconds since 1970 of an aware datetime, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def execution_id(task_id: UUID, scheduled_for: datetime, series: str = SCHEDULE_SERIES) -> UUID:
    """Return the id of the occurrence; equal arguments give equal ids."""
    return series_id(task_id, scheduled_for, scheduled_for, series)


def series_id(task_id: UUID, prefix: datetime, scheduled_for: datetime, series: str) -> UUID:
    """Return the id of a series' occurrence under a time prefix of its own.

    Manual runs, retries and backfills go into today's day of the ledger, also for an instant
    of another day.
    """
    microseconds = (scheduled_for - _EPOCH) // timedelta(microseconds=1)
    seed = b"%s|%d|%s" % (task_id.bytes, microseconds, series.encode())
    return _version8(milliseconds(prefix), hashlib.blake2b(seed, digest_size=10).digest())


def attempt_id(execution: UUID, number: int, token: int) -> UUID:
    """Return the id of an attempt: the execution's time prefix, so both lie in one day."""
    seed = b"%s|%d|%d" % (execution.bytes, number, token)
    prefix = execution.int >> _LOW_BITS
    return _version8(prefix, hashlib.blake2b(seed, digest_size=10).digest())


def step_id(run_id: UUID, step: int, item: int, take: int) -> UUID:
    """Return the id of a step's end in a take of a run: the run's time prefix, as above."""
    seed = b"%s|%d|%d|%d" % (run_id.bytes, step, item, take)
    prefix = run_id.int >> _LOW_BITS
    return _version8(prefix, hashlib.blake2b(seed, digest_size=10).digest())


def event_id(batch_id: UUID, place: int) -> UUID:
    """Return the id of one event of a batch: the batch's time prefix, as above."""
    seed = b"%s|%d" % (batch_id.bytes, place)
    prefix = batch_id.int >> _LOW_BITS
    return _version8(prefix, hashlib.blake2b(seed, digest_size=10).digest())


def new_id() -> UUID:
    """Return a random id that sorts by its time of making (UUID version 7)."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[UUID]:
    """Return that many random ids of one time of making, at the price of one reading of each."""
    stamp = milliseconds(datetime.now(UTC)) << _LOW_BITS
    random = os.urandom(10 * count)
    return [
        UUID(int=_stamped(stamp | int.from_bytes(random[begin : begin + 10], "big"), 7))
        for begin in range(0, 10 * count, 10)
    ]


def parse_uuid(value: str) -> UUID:
    """Return the id; raise ValueError for anything but the canonical spelling."""
    if not _UUID.fullmatch(value):
        raise ValueError("Give an id, for instance 0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1.")
    return UUID(value)


def first_id_at(moment: datetime) -> UUID:
    """Return the smallest id of that millisecond: the lower bound of a range of ids."""
    return UUID(int=max(0, milliseconds(moment)) << _LOW_BITS)


def moment_of(value: UUID) -> datetime:
    """Return the time prefix of a time-ordered id, 9999-01-01 at the latest.

    A caller may send any id, and the prefix holds later times than a datetime does.
    """
    return _EPOCH + timedelta(milliseconds=min(value.int >> _LOW_BITS, _LATEST_PREFIX))


def partition_of(task_id: UUID, count: int) -> int:
    """Return the partition of a task: a hash, so a tenant's tasks spread over all schedulers."""
    return int.from_bytes(hashlib.blake2b(task_id.bytes, digest_size=4).digest(), "big") % count


def _version8(prefix: int, tail: bytes) -> UUID:
    return UUID(int=_stamped((prefix << _LOW_BITS) | int.from_bytes(tail, "big"), 8))


def _stamped(value: int, version: int) -> int:
    return (value & _UNSTAMPED) | _STAMPS[version]
