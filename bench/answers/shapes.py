"""What an execution looks like in each of its states, told by its instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bench.answers.stand import NOW

_SECOND = timedelta(seconds=1)
_STARTED = 5 * timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt and what came of it."""

    outcome: str
    response_status: int | None = None
    error_code: str = ""
    error_message: str = ""


_GOOD = Tried("SUCCEEDED", 200)
_BAD = Tried("FAILED", 503, "http_status", "The answer was 503.")
_SLOW = Tried("TIMED_OUT", None, "timeout", "No answer within 30 seconds.")
_LOST = Tried("WORKER_LOST", None, "worker_lost", "The worker was lost.")
_STOPPED = Tried("CANCELLED")


@dataclass(frozen=True, slots=True)
class Shape:
    """A state: columns, and attempts made so far."""

    name: str
    status: str
    reason: str = ""
    attempts: tuple[Tried, ...] = ()
    #: How long after its instant it was queued, started and finished; None: it has not.
    queued: timedelta | None = None
    started: timedelta | None = None
    finished: timedelta | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    #: Instants that a span row covers, 0 for a row of one.
    span: int = 0

    def columns(self, at: datetime) -> dict[str, Any]:
        """Return the columns of an execution of this instant."""
        last = self.attempts[-1] if self.attempts else None
        found: dict[str, Any] = {
            "status": self.status,
            "reason": self.reason,
            "attempt": max(len(self.attempts), int(self.status == "RUNNING")),
            "queued_at": None if self.queued is None else at + self.queued,
            "started_at": None if self.started is None else at + self.started,
            "finished_at": None if self.finished is None else at + self.finished,
            "worker": "" if self.started is None else "worker-1",
            **self.more,
        }
        if self.started is not None:
            found["start_delay_ms"] = self.started.total_seconds() * 1000
        if last is not None:
            found |= {
                "response_status": last.response_status,
                "error_code": last.error_code,
                "error_message": last.error_message,
                "lost_count": sum(one is _LOST for one in self.attempts),
            }
        if "since" in found:
            found[found.pop("since")] = at + 2 * _SECOND
        return found


def _ended(name: str, status: str, *tried: Tried, reason: str = "", **more: Any) -> Shape:
    """Return the shape of what ran and ended, a few minutes after its start for each retry."""
    last = len(tried)
    finished = _STARTED + timedelta(minutes=5 * (last - 1), milliseconds=80 * last)
    return Shape(name, status, reason, tried, -_SECOND, _STARTED, finished, more)


def _skipped(reason: str, span: int = 0) -> Shape:
    return Shape(f"skipped_{reason}", "SKIPPED", reason, finished=_SECOND, span=span)


FINAL_SHAPES: tuple[Shape, ...] = (
    _ended("succeeded", "SUCCEEDED", _GOOD),
    _ended("retried", "SUCCEEDED", _BAD, _GOOD),
    Shape(
        "late", "SUCCEEDED", "misfire_coalesced", (_GOOD,), 9 * _SECOND, 10 * _SECOND, 11 * _SECOND
    ),
    _ended("failed", "FAILED", _BAD, _SLOW, _BAD, reason="attempts_exhausted"),
    _skipped("overlap_skipped"),
    _ended("succeeded_again", "SUCCEEDED", _GOOD),
    _ended("found", "SUCCEEDED", _LOST, _GOOD),
    Shape("cancelled", "CANCELLED", "cancelled", finished=_SECOND,
          more={"since": "cancel_requested_at"}),
    _skipped("misfire_skipped"),
    _ended("refused", "FAILED", Tried("FAILED", 404, "http_status", "The answer was 404."),
           reason="not_retryable"),
    _ended("stopped", "CANCELLED", _STOPPED, reason="cancelled", since="cancel_requested_at"),
    _skipped("paused", span=6),
    _ended("made_room", "CANCELLED", _STOPPED, reason="overlap_cancelled"),
    _skipped("calendar_excluded"),
    _ended("timed_out", "FAILED", _SLOW, _SLOW, reason="attempts_exhausted"),
    _ended("answered_later", "SUCCEEDED", Tried("SUCCEEDED", 202), since="accepted_at"),
)  # fmt: skip

OPEN_SHAPES: tuple[Shape, ...] = (
    Shape("pending", "PENDING"),
    Shape("queued", "QUEUED", queued=-_SECOND),
    Shape("running", "RUNNING", queued=-_SECOND, started=_STARTED, more={"counted": True}),
    Shape("retrying", "RETRYING", "", (_BAD,), -_SECOND, _STARTED,
          more={"due_at": NOW + timedelta(minutes=14)}),
    Shape("held", "PENDING", more={"held": True}),
    Shape("gated", "PENDING", more={"held": True, "gated": True}),
    Shape("parked", "PENDING", more={"parked": True}),
    Shape("accepted", "RUNNING", queued=-_SECOND, started=_STARTED, more={"since": "accepted_at"}),
    Shape("stopping", "RUNNING", queued=-_SECOND, started=_STARTED,
          more={"since": "cancel_requested_at"}),
    Shape("retrying_held", "RETRYING", "", (_LOST, _SLOW), -_SECOND, _STARTED,
          more={"held": True, "due_at": NOW + timedelta(minutes=19)}),
    Shape("counted", "PENDING", more={"counted": True}),
    Shape("prepared", "PENDING", more={"due_at": NOW + timedelta(minutes=2)}),
)  # fmt: skip
