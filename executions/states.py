"""The state machine of an execution: one table of every allowed move.

``executions/transitions.py`` writes the moves; the reference page is generated from this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from executions.choices import Status


@dataclass(frozen=True, slots=True)
class Move:
    """One allowed move: its verb, source states, target state, event and guard."""

    verb: str
    sources: tuple[Status, ...]
    target: Status
    event: str
    guard: str


MOVES: tuple[Move, ...] = (
    Move(
        "mark_queued",
        (Status.PENDING, Status.RETRYING),
        Status.QUEUED,
        "execution.queued",
        "due, not held, new fencing token, lease set; also leased by a worker of its pool",
    ),
    Move(
        "skip",
        (Status.PENDING,),
        Status.SKIPPED,
        "execution.skipped",
        "waits for the gate, no place for it at its due instant",
    ),
    Move("mark_running", (Status.QUEUED,), Status.RUNNING, "execution.started", "fencing token"),
    Move(
        "accept",
        (Status.QUEUED, Status.RUNNING),
        Status.RUNNING,
        "execution.accepted",
        "fencing token, not accepted before; heartbeats keep the lease from here on",
    ),
    Move(
        "succeed",
        (Status.QUEUED, Status.RUNNING),
        Status.SUCCEEDED,
        "execution.succeeded",
        "fencing token",
    ),
    Move(
        "schedule_retry",
        (Status.QUEUED, Status.RUNNING),
        Status.RETRYING,
        "execution.retrying",
        "fencing token, attempts left",
    ),
    Move(
        "dead_letter",
        (Status.QUEUED, Status.RUNNING),
        Status.FAILED,
        "execution.failed",
        "fencing token; the dead letter is written in the same transaction",
    ),
    Move(
        "withdraw",
        (Status.QUEUED,),
        Status.PENDING,
        "execution.withdrawn",
        "fencing token, voided before its start; no attempt is used",
    ),
    Move(
        "release",
        (Status.QUEUED,),
        Status.PENDING,
        "execution.released",
        "fencing token, handed back before its start; no attempt is used",
    ),
    Move(
        "defer",
        (Status.QUEUED,),
        Status.PENDING,
        "execution.deferred",
        "fencing token, its destination has no capacity: parked; or its tenant is at a limit",
    ),
    Move(
        "cancel",
        (Status.PENDING, Status.RETRYING, Status.QUEUED),
        Status.CANCELLED,
        "execution.cancelled",
        "voided where QUEUED",
    ),
    Move(
        "finish_cancel",
        (Status.QUEUED, Status.RUNNING),
        Status.CANCELLED,
        "execution.cancelled",
        "fencing token; reported by the holder",
    ),
)

ALLOWED: frozenset[tuple[str, str]] = frozenset(
    (source.value, move.target.value) for move in MOVES for source in move.sources
)


def may_move(source: str, target: str) -> bool:
    """Return whether any verb moves from one state to the other."""
    return (source, target) in ALLOWED
