"""Log lines of executions: ended without success, started late, rescued; written on commit.

``transitions`` and rescue call it, with a batch whose lines are written together. Lines carry ids,
the error's code and the reason, and no text that a target, a receiver or a user wrote: such text
may hold secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from django.db import transaction

from executions.choices import Status
from shared.log_output import written_together
from shared.trace_context import context_of

log = logging.getLogger("executions.engine.final_log")

#: Maximum number of ids in the line of a cancel, which may be about thousands of executions.
_MOST_IDS = 20


class Final(NamedTuple):
    """An execution that failed for good, or was cancelled after its start."""

    id: UUID
    tenant_id: UUID
    status: str
    attempt: int
    task_id: UUID
    reason: str
    #: The trace that it continues, as it is kept.
    trace_context: str | None


class Rescued(NamedTuple):
    """An execution that was taken back, and runs again."""

    id: UUID
    tenant_id: UUID
    task_id: UUID
    #: The attempt that was lost, or never began.
    attempt: int
    trace_context: str | None
    reason: str
    #: The worker that had it, where one is known.
    worker: str


class LastAttempt(Protocol):
    """The result of the attempt that ended an execution."""

    @property
    def execution_id(self) -> UUID:
        """The execution of the attempt."""

    @property
    def error_code(self) -> str:
        """The code of its error; '' where it did not fail."""

    @property
    def response_status(self) -> int | None:
        """The status of the answer, where there was one."""

    @property
    def worker(self) -> str:
        """The worker that ran it."""


def note_ended(finals: Sequence[Final], attempts: Sequence[LastAttempt]) -> None:
    """Log a line for each execution when the transaction commits, and none if it does not."""
    if finals:
        last = {one.execution_id: one for one in attempts}
        transaction.on_commit(lambda: _write_ended(finals, last), robust=True)


def note_late(late: Sequence[tuple[Final, float]], attempts: Sequence[LastAttempt]) -> None:
    """Log a line for each late start, with the milliseconds that it was late, on commit."""
    if late:
        last = {one.execution_id: one for one in attempts}
        transaction.on_commit(lambda: _write_late(late, last), robust=True)


def note_rescued(rescued: Sequence[Rescued]) -> None:
    """Log a line for each execution that was taken back, on commit."""
    if rescued:
        transaction.on_commit(lambda: _write_rescued(rescued), robust=True)


def note_cancelled(ids: Sequence[UUID], reason: str) -> None:
    """Log one line for executions cancelled before their start, when the transaction commits."""
    if ids:
        transaction.on_commit(lambda: _write_cancelled(ids, reason), robust=True)


def note_ended_before(ids: Sequence[UUID]) -> None:
    """Log one line for open executions that the history had as ended, on commit."""
    transaction.on_commit(lambda: _write_ended_before(ids), robust=True)


def _write_ended(finals: Sequence[Final], last: Mapping[UUID, LastAttempt]) -> None:
    with written_together():
        for one in finals:
            attempt = last[one.id]
            facts = {
                **_ids(one),
                "reason": one.reason,
                "error_code": attempt.error_code,
                "response_status": attempt.response_status,
                "worker": attempt.worker,
            }
            if one.status == Status.FAILED:
                log.warning("execution.failed", extra=facts)
            else:
                log.info("execution.cancelled", extra=facts)


def _write_late(late: Sequence[tuple[Final, float]], last: Mapping[UUID, LastAttempt]) -> None:
    with written_together():
        for one, delay_ms in late:
            log.warning(
                "execution.started_late",
                extra={**_ids(one), "delay_ms": round(delay_ms), "worker": last[one.id].worker},
            )


def _write_rescued(rescued: Sequence[Rescued]) -> None:
    with written_together():
        for one in rescued:
            log.warning(
                "execution.rescued",
                extra={**_ids(one), "reason": one.reason, "worker": one.worker},
            )


def _ids(one: Final | Rescued) -> dict[str, object]:
    return {
        "execution_id": str(one.id),
        "task_id": str(one.task_id),
        "tenant_id": str(one.tenant_id),
        "trace_id": context_of(one.id.hex, one.trace_context).trace_id,
        "attempt": one.attempt,
    }


def _write_ended_before(ids: Sequence[UUID]) -> None:
    log.error("executions.ended_before", extra=_named(ids))


def _write_cancelled(ids: Sequence[UUID], reason: str) -> None:
    log.info("executions.cancelled", extra={"reason": reason, **_named(ids)})


def _named(ids: Sequence[UUID]) -> dict[str, object]:
    return {"count": len(ids), "execution_ids": [str(one) for one in ids[:_MOST_IDS]]}
