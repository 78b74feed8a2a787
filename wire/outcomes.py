"""Outcomes of workers as bytes: one encoder and one decoder, for the outcome stream and pipes.

A row is JSON with its sealed blobs behind it, as they are: base64 would make them a third longer
and be undone at once. An entry of the stream is a version and frames, each behind its lengths.
A fixed layout for successes was measured: packed in Python it costs more than JSON.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NotRequired, TypedDict

import orjson

from wire.costs import Cost

_VERSION = b"\x01"
#: Lengths of the JSON, the sealed answer, log or progress, and the sealed result.
_HEAD = struct.Struct("<III")


class Decision(TypedDict):
    """What becomes of an execution after an attempt; ``retry_in`` is in seconds."""

    verb: Literal["succeeded", "retrying", "failed", "cancelled", "accepted"]
    reason: NotRequired[str]
    retry_in: NotRequired[float]
    #: Whether its worker was lost by it.
    lost: NotRequired[int]


class Outcome(Decision):
    """How one attempt ended. ``status`` is that of an HTTP answer."""

    #: A value of ``executions.choices.AttemptOutcome``.
    outcome: str
    status: NotRequired[int | None]
    timings: NotRequired[dict[str, float]]
    error_code: NotRequired[str]
    error_message: NotRequired[str]
    #: The sealed answer or log.
    sealed: NotRequired[bytes]
    #: The sealed result.
    result: NotRequired[bytes]
    #: The reported cost by unit, and why a reported one is ignored.
    cost: NotRequired[Mapping[str, float]]
    cost_ignored: NotRequired[str]


def outcome_of(decision: Decision, outcome: str) -> Outcome:
    """Return how an attempt ended: its outcome, and what becomes of the execution."""
    made: Any = {**decision, "outcome": outcome}
    found: Outcome = made
    return found


def add_cost(outcome: Outcome, cost: Cost) -> None:
    """Add the cost that the receiver has reported; none leaves the keys out."""
    if cost.by_unit:
        outcome["cost"] = cost.by_unit
    elif cost.ignored:
        outcome["cost_ignored"] = cost.ignored


class AttemptRow(Outcome):
    """The row of an attempt that has ended; times are seconds on Redis' clock."""

    id: str
    token: int
    attempt: int
    worker: str
    started: float
    at: float


class StartedRow(TypedDict):
    """The row of a request that has been in flight for a while."""

    verb: Literal["started"]
    id: str
    token: int
    worker: str
    at: float


class ReleasedRow(TypedDict):
    """The row of an execution that comes back unstarted."""

    verb: Literal["released"]
    id: str
    token: int


class DeferredRow(TypedDict):
    """The row of an execution that comes back because its destination has no room."""

    verb: Literal["deferred"]
    id: str
    token: int
    reason: str
    until: float


class ProgressRow(TypedDict):
    """The row of a run's progress, sealed."""

    verb: Literal["progress"]
    id: str
    token: int
    sealed: bytes


Row = AttemptRow | StartedRow | ReleasedRow | DeferredRow | ProgressRow


def encode(row: Row | Outcome) -> bytes:
    """Return the frame of a row; ``sealed`` and ``result`` are bytes, the rest is JSON."""
    words: dict[str, Any] = {**row}
    sealed, result = words.pop("sealed", b""), words.pop("result", b"")
    text = orjson.dumps(words)
    return b"".join((_HEAD.pack(len(text), len(sealed), len(result)), text, sealed, result))


def decode(frame: bytes) -> dict[str, Any]:
    """Return the row of a frame, which the caller checks; ValueError when it makes no sense."""
    text_at, sealed_at, result_at, end = _places(frame, 0)
    if end != len(frame):
        raise ValueError("this is no frame of an outcome")
    row = orjson.loads(memoryview(frame)[text_at:sealed_at])
    if not isinstance(row, dict):
        raise ValueError("an outcome is a JSON object")
    if result_at > sealed_at:
        row["sealed"] = frame[sealed_at:result_at]
    if end > result_at:
        row["result"] = frame[result_at:]
    return row


def joined(frames: Iterable[bytes]) -> bytes:
    """Return the entry of frames."""
    return b"".join((_VERSION, *frames))


def split(entry: bytes) -> list[bytes]:
    """Return the frames of an entry; ValueError when it is none."""
    if entry[:1] != _VERSION:
        raise ValueError("this is no entry of a known version")
    return list(_frames(entry))


def _frames(entry: bytes) -> Iterator[bytes]:
    place = 1
    while place < len(entry):
        begin, place = place, _places(entry, place)[-1]
        yield entry[begin:place]


def _places(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Return where the parts of a frame begin, and where it ends."""
    text_at = at + _HEAD.size
    if text_at > len(data):
        raise ValueError("a frame of an outcome is cut off")
    text, sealed, result = _HEAD.unpack_from(data, at)
    sealed_at = text_at + text
    result_at = sealed_at + sealed
    if result_at + result > len(data):
        raise ValueError("a frame of an outcome is cut off")
    return text_at, sealed_at, result_at, result_at + result
