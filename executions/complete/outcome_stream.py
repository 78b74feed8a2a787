"""The recorders' end of the outcome stream: a consumer group, so that any number share it.

The complete stage uses it. An entry stays with its recorder until acknowledged: the recorder reads
it again after a failure, and another one takes it over when the recorder dies. Invalid entries go
to a bounded side list, so that they block nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import orjson
import redis

from shared.redis_client import (
    OUTCOME_GROUP,
    OUTCOME_PROMPT,
    OUTCOME_STREAM,
    blocking_client,
    client,
)

log = logging.getLogger("executions.engine.outcome_stream")

#: Data that could not be recorded, newest first, for people to read.
SIDE_LIST = "punctual:outcomes:refused"
_SIDE_LIST_LENGTH = 1000
_SIDE_LIST_CHARACTERS = 4096
#: Entries of another recorder that are pending this long are taken over.
_CLAIM_AFTER_MS = 5000
_CLAIM_EVERY_SECONDS = 1.0
#: Consumers idle for this long and without pending entries are removed: one per restart.
_FORGET_AFTER_MS = 3600 * 1000


class Entry(NamedTuple):
    """One entry of the stream; ``data`` is None when the entry was deleted."""

    id: bytes
    data: bytes | None


@dataclass(slots=True)
class OutcomeConsumer:
    """One recorder's place in the group."""

    name: str
    block_seconds: float
    _redis: redis.Redis | None = None
    _claimed_at: float = float("-inf")
    #: Entries that were read and not acknowledged.
    _held: int = 0

    def read(self, limit: int) -> list[Entry]:
        """Return entries to record, at most ``limit``; block a moment when there is none.

        First entries that this recorder has read before and not acknowledged, then entries that a
        dead one has left, then new ones.
        """
        if self._redis is None:
            self._redis = blocking_client(self.block_seconds)
        try:
            found = self._own(limit)
            if not found:
                found = self._left_by_others(limit) or self._new(limit)
                self._held = len(found)
            return found
        except redis.ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
            ensure_group()
            return []

    def gather(self, seconds: float) -> None:
        """Wait this long for outcomes to come.

        Others wait for the outcomes of workflows' steps: one that comes ends this at once.
        """
        if seconds > 0.0 and self._redis is not None:
            self._redis.blpop([OUTCOME_PROMPT], timeout=seconds)

    def postpone(self, entries: Sequence[Entry]) -> None:
        """Leave entries pending: the first recorder that looks in some seconds reads them again."""
        if entries:
            log.warning("outcomes.postponed", extra={"count": len(entries)})
        self._held -= len(entries)

    def acknowledge(self, entries: Sequence[Entry]) -> None:
        """Remove recorded entries; call it after the commit, or a crash could lose them."""
        if not entries:
            return
        ids = [entry.id for entry in entries]
        with client().pipeline(transaction=True) as pipeline:
            pipeline.xack(OUTCOME_STREAM, OUTCOME_GROUP, *ids)
            pipeline.xdel(OUTCOME_STREAM, *ids)
            pipeline.execute()
        self._held -= len(ids)

    def leave(self) -> None:
        """Remove this recorder's place; keep it while it has entries for others to take over."""
        self._forget(lambda consumer: _plain(consumer["name"]) == self.name)

    def forget_the_gone(self) -> None:
        """Remove the places of recorders that ended long ago."""
        self._forget(lambda consumer: consumer["idle"] > _FORGET_AFTER_MS)

    def _forget(self, gone: Any) -> None:
        try:
            found = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
        except redis.ResponseError:
            return  # no group, no places
        for consumer in found:
            if gone(consumer) and not consumer["pending"]:
                client().xgroup_delconsumer(OUTCOME_STREAM, OUTCOME_GROUP, consumer["name"])

    def _own(self, limit: int) -> list[Entry]:
        return self._group_read("0", limit, block=None) if self._held > 0 else []

    def _new(self, limit: int) -> list[Entry]:
        return self._group_read(">", limit, block=int(self.block_seconds * 1000))

    def _group_read(self, after: str, limit: int, block: int | None) -> list[Entry]:
        assert self._redis is not None  # noqa: S101 - read() has made it
        answer = self._redis.xreadgroup(
            OUTCOME_GROUP, self.name, {OUTCOME_STREAM: after}, count=limit, block=block
        )
        return _entries(answer)

    def _left_by_others(self, limit: int) -> list[Entry]:
        now = time.monotonic()
        if self._redis is None or now - self._claimed_at < _CLAIM_EVERY_SECONDS:
            return []
        self._claimed_at = now
        answer = cast(
            Sequence[Any],
            self._redis.xautoclaim(
                OUTCOME_STREAM, OUTCOME_GROUP, self.name, _CLAIM_AFTER_MS, "0-0", count=limit
            ),
        )
        return [_entry(row) for row in answer[1]]


def ensure_group() -> None:
    """Make the stream and its consumer group where they are missing (a new or flushed Redis)."""
    try:
        client().xgroup_create(OUTCOME_STREAM, OUTCOME_GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def set_aside(data: Any, reason: str) -> None:
    """Put data that cannot be recorded on the side list, and log it."""
    log.error("outcome.set_aside", extra={"reason": reason})
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else _text(data)
    line = orjson.dumps({"at": time.time(), "reason": reason, "data": text[:_SIDE_LIST_CHARACTERS]})
    with client().pipeline(transaction=True) as pipeline:
        pipeline.lpush(SIDE_LIST, line)
        pipeline.ltrim(SIDE_LIST, 0, _SIDE_LIST_LENGTH - 1)
        pipeline.execute()


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _entries(answer: Any) -> list[Entry]:
    if not answer:
        return []
    streams = answer.items() if isinstance(answer, dict) else answer
    found: list[Entry] = []
    for _, batches in streams:
        # RESP3 nests one level deeper than RESP2.
        nested = batches and isinstance(batches[0], list) and isinstance(batches[0][0], list)
        found += [_entry(row) for row in (batches[0] if nested else batches)]
    return found


def _entry(row: Any) -> Entry:
    entry, fields = row
    return Entry(entry, (fields or {}).get(b"d"))


def _plain(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
