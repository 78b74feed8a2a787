"""Counts of the web processes, added up in Redis, so that any of them can tell them all.

A process counts in memory and adds its counts once a second, and when it stops; one that is killed
loses its last second. Counts begin anew with each start of Redis, also of one that kept its data:
what it brought back may be a little less than was told before, and a reader of counters takes less
for a new beginning, so that all of it would count again. The names are few: they come from code,
never from a caller.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, cast
from uuid import uuid4

import redis

from shared.redis_client import COUNTS_KEY, ConnectionFailed, client, lua

log = logging.getLogger(__name__)

#: Parts of the site whose requests are timed apart.
AREAS = ("api", "console", "admin", "other")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other")
STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
#: Upper bounds of the buckets of the time that a request takes, inclusive, in milliseconds.
BOUNDS_MS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
#: A fault that would name counts without end meets this bound.
_MOST_NAMES = 10_000
#: Counts of a former Redis, and of an installation without requests, go after a day.
_KEPT_SECONDS = 86_400


class _Batch(NamedTuple):
    id: str
    counts: Mapping[str, int]


_lock = threading.Lock()
_counts: Counter[str] = Counter()
_PROCESS = uuid4().hex
_flushing = threading.Lock()
#: The batch that was sent and not answered, if any: it may have arrived.
_unanswered: list[_Batch] = []


def count_request(operation: str, method: str, status: int, area: str, seconds: float) -> None:
    """Count a request that was answered."""
    method = method if method in METHODS else "other"
    milliseconds = max(0.0, seconds) * 1000
    place = bisect_left(BOUNDS_MS, milliseconds)
    with _lock:
        if len(_counts) < _MOST_NAMES:
            _counts[f"requests|{operation}|{method}|{status // 100}xx"] += 1
            _counts[f"seconds|{area}|{place}"] += 1
            _counts[f"seconds|{area}|sum"] += round(milliseconds * 1000)


def any_waits() -> bool:
    """Return whether this process has counted anything since the last flush."""
    return bool(_counts or _unanswered)


def flush() -> None:
    """Add what this process has counted since, each count once.

    While Redis is away or refuses it, keep it for the next time.
    """
    with _flushing:
        # What was not answered last time goes first; then what was counted meanwhile.
        for _ in range(1 + len(_unanswered)):
            if not (_unanswered or _take_batch()):
                return
            try:
                _add(_unanswered[0])
            except (redis.RedisError, *ConnectionFailed) as error:
                log.debug("web_counts.held_back", extra={"reason": type(error).__name__})
                return
            _unanswered.clear()


def read() -> dict[tuple[str, ...], int]:
    """Return the counts of all web processes by the parts of names; raise the errors of Redis."""
    flush()
    found = cast(dict[bytes, bytes], client().hgetall(_key()))
    return {tuple(name.decode().split("|")): int(number) for name, number in found.items()}


def _take_batch() -> bool:
    with _lock:
        counts = dict(_counts)
        _counts.clear()
    if counts:
        _unanswered.append(_Batch(uuid4().hex, counts))
    return bool(counts)


def _add(batch: _Batch) -> None:
    pairs = [part for name, number in batch.counts.items() for part in (name, str(number))]
    key = _key()
    arguments = [batch.id, str(_KEPT_SECONDS), *pairs]
    client().eval(lua("counts"), 2, key, f"{key}:{_PROCESS}", *arguments)


def _key() -> str:
    """Return the key of this start of Redis."""
    said = cast(dict[str, object], client().info("server"))
    return f"{COUNTS_KEY}:{said.get('run_id', '')}"
