"""The position of the recorders in the outcome stream.

Rescue asks before it declares running work lost: an outcome that is already in the stream wins.
"""

from __future__ import annotations

from typing import Any

import redis

from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client

#: The id of an entry: milliseconds and a number.
Position = tuple[int, int]
NOWHERE: Position = (0, 0)


def end() -> Position:
    """Return the position of the last entry; (0, 0) when there is none."""
    try:
        info = client().xinfo_stream(OUTCOME_STREAM)
    except redis.ResponseError:
        return NOWHERE  # no stream: nothing waits to be recorded
    return _position(info["last-generated-id"])


def recorded(barrier: Position) -> bool:
    """Return whether the recorders have read and acknowledged everything up to a position.

    If a restart of Redis lost the stream, or its end, no entry beyond its present end can still
    come.
    """
    wanted = min(barrier, end())
    if wanted == NOWHERE:
        return True
    try:
        groups = client().xinfo_groups(OUTCOME_STREAM)
        pending = client().xpending(OUTCOME_STREAM, OUTCOME_GROUP)
    except redis.ResponseError:
        # The stream, or the group, is gone: a new group reads from the beginning.
        return False
    delivered = [
        _position(group["last-delivered-id"])
        for group in groups
        if _plain(group["name"]) == OUTCOME_GROUP
    ]
    if not delivered or delivered[0] < wanted:
        return False
    oldest = pending.get("min")
    return oldest is None or _position(oldest) > wanted


def _plain(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _position(value: Any) -> Position:
    head, _, tail = _plain(value).partition("-")
    return int(head), int(tail or 0)
