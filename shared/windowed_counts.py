"""Counts of events within a window of time, in Redis; they limit tries and messages.

A count begins with its first event and expires when the window has passed. Names may hold data
that must not be readable in Redis, so that keys are hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from shared.redis_client import client


def counts_of(names: Iterable[str]) -> list[int]:
    """Return how often each event was counted in its window; raise ConnectionFailed."""
    return [int(count or 0) for count in client().mget([_key(name) for name in names])]


def count(names: Iterable[str], window_seconds: int) -> list[int]:
    """Count one event of each name and return the new counts; raise ConnectionFailed."""
    with client().pipeline(transaction=True) as pipeline:
        for key in map(_key, names):
            pipeline.incr(key)
            pipeline.expire(key, window_seconds, nx=True)
        return [int(found) for found in pipeline.execute()[::2]]


def forget(names: Iterable[str]) -> None:
    """Begin the counts anew; raise ConnectionFailed."""
    client().delete(*[_key(name) for name in names])


def _key(name: str) -> str:
    return f"punctual:count:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()}"
