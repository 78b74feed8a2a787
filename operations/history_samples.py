"""A made-up past for demonstrations: finished executions with attempts and dead letters.

Every row is marked: trigger ``backfill``, and :data:`MARK` as reason and worker. Nothing here
writes an event, so the alerter sends no alert. All that is counted from executions agrees: the
minute statistics, the objectives, and the last runs of their tasks.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions.choices import AttemptOutcome, Status, Trigger
from executions.ledger import minute_stats, settling
from executions.ledger.minute_stats import Ended
from executions.ledger.objectives import late_cause, own_fault
from executions.ledger.settling import Settled
from shared.actor import Actor
from shared.encryption import seal_json
from shared.ids import attempt_id, execution_id, new_ids
from shared.sealing_contexts import response_context
from shared.sql import rows, run

#: The mark of every made-up row.
MARK = "demo_history"


@dataclass(frozen=True, slots=True)
class Sample:
    """One made-up execution; with an ``error_code`` it failed after its last attempt."""

    task_id: UUID
    at: datetime
    delay_ms: float
    duration_ms: float
    attempts: int = 1
    max_attempts: int = 1
    timeout_seconds: float = 30.0
    retry_after_seconds: float = 30.0
    answer: int | None = 200
    error_code: str = ""
    error_message: str = ""
    body: bytes = b'{"ok": true}'

    @property
    def id(self) -> UUID:
        """Return the id, the same for the same task and time."""
        return execution_id(self.task_id, self.at, MARK)

    @property
    def numbers(self) -> range:
        """Return the numbers of its attempts."""
        return range(1, self.attempts + 1)

    @property
    def status(self) -> Status:
        """Return its final state."""
        return Status.FAILED if self.error_code else Status.SUCCEEDED

    @property
    def signature(self) -> str:
        """Return the cause in the form of real failures."""
        is_status = self.error_code == "http_status"
        return f"http_status:{self.answer}" if is_status else self.error_code

    def due_at(self, number: int) -> datetime:
        """Return when the attempt was due: its time, or the wait after the previous attempt."""
        if number == 1:
            return self.at
        return self.finished_at(number - 1) + timedelta(seconds=self.retry_after_seconds)

    def started_at(self, number: int) -> datetime:
        """Return when the attempt began."""
        return self.due_at(number) + timedelta(milliseconds=self.delay_ms)

    def finished_at(self, number: int) -> datetime:
        """Return when the attempt ended."""
        return self.started_at(number) + timedelta(milliseconds=self.duration_ms)


@transaction.atomic
def insert_history(tenant_id: UUID, samples: Sequence[Sample], *, actor: Actor) -> int:
    """Write the samples of the tenant's tasks; return how many were new.

    The day tables of their times must exist.
    """
    if not samples:
        return 0
    found = {
        row[0]: row[1:]
        for row in rows("history/insert_executions", _executions(tenant_id, samples))
    }
    made = [_Made(sample, *found[sample.id]) for sample in samples if sample.id in found]
    if not made:
        return 0
    tries = [_Try(tenant_id, one, number) for one in made for number in one.sample.numbers]
    run("history/insert_attempts", _attempts(tenant_id, tries))
    failed = [one.sample for one in made if one.sample.status == Status.FAILED]
    if failed:
        run("history/insert_letters", _letters(failed))
    minute_stats.count(one.ended for one in tries)
    settling.settle([one.settled for one in made], ())
    after = {"executions": len(made), "dead_letters": len(failed)}
    audit.record(tenant_id, actor, "history.made_up", "tenant", tenant_id, after=after)
    return len(made)


@dataclass(frozen=True, slots=True)
class _Made:
    """A sample that was written, with the version and the priority of its task."""

    sample: Sample
    revision: int
    priority: int

    @property
    def settled(self) -> Settled:
        """Return the facts that its task needs."""
        sample = self.sample
        ends = sample.finished_at(sample.attempts)
        return Settled(
            sample.id, sample.task_id, sample.status, Trigger.BACKFILL, self.revision, ends
        )


class _Try:
    """One attempt of a sample; its answer is sealed once."""

    def __init__(self, tenant_id: UUID, made: _Made, number: int) -> None:
        self.sample, self.number = made.sample, number
        self.sealed = _sealed_answer(tenant_id, made.sample)
        self._tenant_id, self._priority = tenant_id, made.priority

    @property
    def ended(self) -> Ended:
        """Return the facts that its minute counts, as the recorder does."""
        sample, is_last = self.sample, self.number == self.sample.attempts
        return Ended(
            sample.id,
            self._tenant_id,
            (sample.status if is_last else Status.RETRYING).value,
            self.number,
            sample.delay_ms,
            sample.finished_at(self.number).replace(second=0, microsecond=0),
            milliseconds=round(sample.duration_ms),
            recorded_bytes=len(self.sealed or b""),
            priority=self._priority,
            late_cause=late_cause(sample.delay_ms, None) if self.number == 1 else "",
            own_fault=own_fault(_outcome(sample), sample.error_code, leased=False),
        )


def _executions(tenant_id: UUID, samples: Sequence[Sample]) -> dict[str, Any]:
    return {
        "tenant": tenant_id,
        "mark": MARK,
        "ids": [sample.id for sample in samples],
        "tasks": [sample.task_id for sample in samples],
        "at": [sample.at for sample in samples],
        "statuses": [sample.status.value for sample in samples],
        "started_at": [sample.started_at(1) for sample in samples],
        "finished_at": [sample.finished_at(sample.attempts) for sample in samples],
        "delays": [sample.delay_ms for sample in samples],
        "attempts": [sample.attempts for sample in samples],
        "most": [sample.max_attempts for sample in samples],
        "timeouts": [sample.timeout_seconds for sample in samples],
        "due_at": [sample.due_at(sample.attempts) for sample in samples],
        "answers": [sample.answer for sample in samples],
        "codes": [sample.error_code for sample in samples],
        "messages": [sample.error_message for sample in samples],
    }


def _attempts(tenant_id: UUID, tries: Sequence[_Try]) -> dict[str, Any]:
    pairs = [(one.sample, one.number) for one in tries]
    return {
        "tenant": tenant_id,
        "mark": MARK,
        "ids": [attempt_id(sample.id, number, 0) for sample, number in pairs],
        "executions": [sample.id for sample, _ in pairs],
        "numbers": [number for _, number in pairs],
        "due_at": [sample.due_at(number) for sample, number in pairs],
        "started_at": [sample.started_at(number) for sample, number in pairs],
        "finished_at": [sample.finished_at(number) for sample, number in pairs],
        "outcomes": [_outcome(sample) for sample, _ in pairs],
        "codes": [sample.error_code for sample, _ in pairs],
        "messages": [sample.error_message for sample, _ in pairs],
        "answers": [sample.answer for sample, _ in pairs],
        "sealed": [one.sealed for one in tries],
    }


def _letters(failed: Sequence[Sample]) -> dict[str, Any]:
    ids = [sample.id for sample in failed]
    return {
        "ids": new_ids(len(failed)),
        "executions": ids,
        "signatures": [sample.signature for sample in failed],
        "low": min(ids),
        "high": max(ids),
    }


def _outcome(sample: Sample) -> str:
    if sample.error_code.startswith("timeout"):
        return AttemptOutcome.TIMED_OUT.value
    failed = sample.status == Status.FAILED
    return (AttemptOutcome.FAILED if failed else AttemptOutcome.SUCCEEDED).value


def _sealed_answer(tenant_id: UUID, sample: Sample) -> bytes | None:
    """Return the answer as an attempt keeps it; none where the receiver gave none."""
    if sample.answer is None:
        return None
    captured = {
        "headers": [["Content-Type", "application/json"]],
        "body": base64.b64encode(sample.body).decode(),
        "truncated": False,
        "address": "127.0.0.1",
    }
    return seal_json(captured, response_context(tenant_id, sample.id))
