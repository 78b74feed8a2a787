"""How each stored state is shown: its word, its icon of static/icons.svg, its class.

One map for every page and picture; tests hold it complete against the choices of the runtime
and of tasks, and its colours to static/css/pictures.css.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from executions.choices import AttemptOutcome, JobStatus, Status
from tasks.choices import TaskStatus


@dataclass(frozen=True, slots=True)
class Look:
    """One state as people see it; its colour is ``--state-<name>``."""

    label: str
    icon: str
    name: str

    @property
    def css(self) -> str:
        """Return the class that sets the state's colour."""
        return f"state-{self.name}"


_PENDING = Look("pending", "clock", "pending")
_RUNNING = Look("running", "arc", "running")
_SUCCEEDED = Look("succeeded", "tick", "succeeded")
_FAILED = Look("failed", "octagon", "failed")
_CANCELLED = Look("cancelled", "slash", "cancelled")

EXECUTION_LOOKS: Mapping[str, Look] = {
    Status.PENDING: _PENDING,
    Status.QUEUED: Look("queued", "stack", "queued"),
    Status.RUNNING: _RUNNING,
    Status.RETRYING: Look("retrying", "loop", "retrying"),
    Status.SUCCEEDED: _SUCCEEDED,
    Status.FAILED: _FAILED,
    Status.CANCELLED: _CANCELLED,
    Status.SKIPPED: Look("skipped", "chevrons", "skipped"),
}
#: Of a step of a run; WAITING: for a time, a signal or a decision, not for a worker.
STEP_LOOKS: Mapping[str, Look] = {
    **EXECUTION_LOOKS,
    "WAITING": Look("waiting", "hourglass", "paused"),
}
#: Of a step that is to be undone, by the status of its compensation.
UNDO_LOOKS: Mapping[str, Look] = {
    "UNDOING": Look("being undone", "undoing", "undone"),
    "UNDONE": Look("undone", "undo", "undone"),
    "NOT_UNDONE": Look("not undone", "undo-failed", "failed"),
}
TASK_LOOKS: Mapping[str, Look] = {
    TaskStatus.SCHEDULED: Look("scheduled", "calendar", "queued"),
    TaskStatus.PAUSED: Look("paused", "bars", "paused"),
    TaskStatus.RUNNING: _RUNNING,
    TaskStatus.COMPLETED: Look("completed", "tick", "succeeded"),
    TaskStatus.FAILED: _FAILED,
    TaskStatus.CANCELLED: _CANCELLED,
}
ATTEMPT_LOOKS: Mapping[str, Look] = {
    AttemptOutcome.SUCCEEDED: _SUCCEEDED,
    AttemptOutcome.FAILED: _FAILED,
    AttemptOutcome.TIMED_OUT: Look("timed out", "hourglass", "failed"),
    AttemptOutcome.WORKER_LOST: Look("worker lost", "unplugged", "failed"),
    AttemptOutcome.CANCELLED: _CANCELLED,
}
JOB_LOOKS: Mapping[str, Look] = {
    JobStatus.PENDING: _PENDING,
    JobStatus.RUNNING: _RUNNING,
    JobStatus.COMPLETED: TASK_LOOKS[TaskStatus.COMPLETED],
    JobStatus.CANCELLED: _CANCELLED,
    JobStatus.STOPPED: Look("stopped", "octagon", "failed"),
}
#: Of the circuit of a destination.
CIRCUIT_LOOKS: Mapping[str, Look] = {
    "closed": Look("circuit closed", "tick", "succeeded"),
    "open": Look("circuit open", "octagon", "failed"),
    "half_open": Look("circuit half open", "hourglass", "retrying"),
}
#: Of a worker.
WORKER_LOOKS: Mapping[str, Look] = {
    "live": Look("live", "tick", "succeeded"),
    "quiet": Look("quiet", "bars", "paused"),
    "draining": Look("draining", "hourglass", "retrying"),
    "lost": Look("lost", "unplugged", "failed"),
}
LOOKS: Mapping[str, Look] = {
    **CIRCUIT_LOOKS,
    **WORKER_LOOKS,
    **TASK_LOOKS,
    **ATTEMPT_LOOKS,
    **JOB_LOOKS,
    **STEP_LOOKS,
    **UNDO_LOOKS,
}
_UNDO_STATES = {"SUCCEEDED": "UNDONE", "FAILED": "NOT_UNDONE", "CANCELLED": "NOT_UNDONE"}


def look_of(state: str) -> Look:
    """Return the look of a state of any kind above; raise KeyError for another word."""
    return LOOKS[state]


def step_state(status: str, undo: str | None) -> str:
    """Return the state of a step for its look, from its status and that of its compensation."""
    return status if undo is None else _UNDO_STATES.get(undo, "UNDOING")


def label_with_attempt(state: str, attempt: int | None, max_attempts: int | None) -> str:
    """Return the word of a state; a retrying one has the number of its attempt."""
    label = look_of(state).label
    if state == Status.RETRYING and attempt is not None and max_attempts is not None:
        return f"{label} {attempt}/{max_attempts}"
    return label
