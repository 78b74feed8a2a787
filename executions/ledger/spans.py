"""The spans of attempts that have ended, from what the ledger knows of them.

``transitions`` calls it. Spans are written once the transaction has committed, for executions of
recorded traces only, and their ids follow from execution and attempt: a repeated report of a worker
moves nothing and so writes none, and the request's span, which the worker sends, finds its parent.
Each span is about one execution: none has text, label or id of another tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from executions.attempts import attempts_of
from executions.choices import FINAL, AttemptOutcome, Status, Trigger
from executions.models import Attempt, Execution
from shared import tenant_scope
from shared.conf import conf
from shared.trace_context import TraceContext
from shared.tracing import sending
from shared.tracing.sampling import context_of_attempt, is_recorded
from shared.tracing.spans import Kind, Link, Part, Span, part_of
from tasks.definition import WORKFLOW_POOL, plain_pool

#: Status -> the result of a pipeline or of its task, by the conventions for CI/CD.
_RESULTS = {
    Status.SUCCEEDED: "success",
    Status.FAILED: "failure",
    Status.CANCELLED: "cancellation",
    Status.SKIPPED: "skip",
}
#: Made because of another execution, which its first span links to.
_AFTER_ANOTHER = frozenset({Trigger.RETRY, Trigger.WORKFLOW})

Attributes = dict[str, str | int | float | bool]


class Ended(Protocol):
    """An execution whose attempt has just ended."""

    @property
    def id(self) -> UUID:
        """The execution."""

    @property
    def tenant_id(self) -> UUID:
        """Its tenant."""

    @property
    def attempt(self) -> int:
        """The number of the attempt; 0 where it ended without one."""

    @property
    def trace_context(self) -> str | None:
        """The trace that it continues, as it is kept."""


class Facts(NamedTuple):
    """What the ledger says of an attempt; ``attempt`` is None where there was none to record."""

    execution: Execution
    number: int
    attempt: Attempt | None
    #: When the attempt before ended, or the execution was made.
    since: datetime
    recorded_at: datetime
    #: The execution because of which this one was made.
    cause: Execution | None = None


def note_ended(ended: Iterable[Ended]) -> None:
    """Write the spans of these attempts when the transaction commits, and none if it does not."""
    if conf().tracing is None:
        return
    chosen: defaultdict[UUID, dict[UUID, int]] = defaultdict(dict)
    for one in ended:
        if is_recorded(one.id.hex, one.trace_context):
            chosen[one.tenant_id][one.id] = max(1, one.attempt)
    if chosen:
        transaction.on_commit(lambda: _write(chosen), robust=True)


def _write(chosen: Mapping[UUID, Mapping[UUID, int]]) -> None:
    if tenant_scope.current() is None:
        every = {key: number for part in chosen.values() for key, number in part.items()}
        sending.emit([span for facts in _read(every) for span in spans_of(facts)])
        return
    for tenant_id, numbers in chosen.items():
        with tenant_scope.scoped(tenant_id):
            sending.emit([span for facts in _read(numbers) for span in spans_of(facts)])


def _read(numbers: Mapping[UUID, int]) -> Iterator[Facts]:
    executions = _executions(numbers)
    attempts = attempts_of(numbers)
    causes = _executions(
        {
            one.parent_id
            for one in executions.values()
            if one.parent_id and one.trigger in _AFTER_ANOTHER and numbers[one.id] == 1
        }
    )
    for key, number in numbers.items():
        execution = executions.get(key)
        if execution is None:
            continue
        known = {one.number: one for one in attempts[key]}
        attempt, before = known.get(number), known.get(number - 1)
        since = before.finished_at if before else execution.created_at
        cause = causes.get(execution.parent_id) if execution.parent_id else None
        yield Facts(execution, number, attempt, since, execution.read_at, cause)


def _executions(ids: Collection[UUID]) -> dict[UUID, Any]:
    """Return these executions as they are now, each with the database's time as ``read_at``."""
    if not ids:
        return {}
    found = Execution.objects.filter(id__in=ids, id__gte=min(ids), id__lte=max(ids))
    read = found.defer("sealed_payload", "sealed_progress", "sealed_result")
    return {one.id: one for one in read.annotate(read_at=Now())}


def spans_of(facts: Facts) -> list[Span]:
    """Return the spans of an attempt, except that of its request."""
    own, number = facts.execution.id.hex, facts.number
    context = context_of_attempt(own, facts.execution.trace_context, number)
    whole = part_of(own, number, Part.ATTEMPT)
    end = max(facts.recorded_at, _ended_at(facts) or facts.recorded_at)
    found = [
        Span(
            *_named(facts.execution),
            context=context,
            span_id=whole,
            parent_id=context.parent,
            start=facts.since.timestamp(),
            end=end.timestamp(),
            attributes=_attributes(facts),
            error=_error(facts),
            link=_link(facts),
        )
    ]
    for part, kind, start, ended in _phases(facts):
        found.append(
            Span(
                name=part.name.lower(),
                kind=kind,
                context=context,
                span_id=part_of(own, number, part),
                parent_id=whole,
                start=start.timestamp(),
                end=ended.timestamp(),
                attributes={},
            )
        )
    return found


def _named(execution: Execution) -> tuple[str, Kind]:
    """Return name and kind of the span of a whole attempt, or of a run of a workflow."""
    if execution.pool == WORKFLOW_POOL:
        return "run workflow", Kind.SERVER
    return f"process {plain_pool(execution.pool)}", Kind.CONSUMER


def _phases(facts: Facts) -> Iterator[tuple[Part, Kind, datetime, datetime]]:
    """Yield what happened to the attempt, one after the other, as far as the ledger knows it."""
    execution, attempt = facts.execution, facts.attempt
    if facts.number == 1:
        yield Part.MATERIALIZE, Kind.INTERNAL, execution.created_at, execution.created_at
    if attempt is None:
        return
    moments = (facts.since, attempt.queued_at, attempt.started_at)
    parts = ((Part.DISPATCH, Kind.PRODUCER), (Part.QUEUE, Kind.INTERNAL))
    for (part, kind), (start, end) in zip(parts, pairwise(moments), strict=True):
        if start is not None and end is not None:
            yield part, kind, start, end
    if execution.accepted_at is not None and execution.status in FINAL:
        yield Part.CALLBACK, Kind.INTERNAL, execution.accepted_at, attempt.finished_at
    yield Part.RECORD, Kind.INTERNAL, attempt.finished_at, facts.recorded_at


def _attributes(facts: Facts) -> Attributes:
    execution = facts.execution
    result = _RESULTS.get(Status(execution.status))
    found: Attributes = {
        "punctual.tenant.id": str(execution.tenant_id),
        "punctual.task.id": str(execution.task_id),
        "punctual.execution.id": str(execution.id),
        "punctual.execution.trigger": str(execution.trigger),
    }
    if execution.pool == WORKFLOW_POOL:
        found["cicd.pipeline.action.name"] = "RUN"
        found["cicd.pipeline.run.id"] = str(execution.run_id or execution.id)
        if result:
            found["cicd.pipeline.result"] = result
        return found
    found |= {
        "messaging.system": "punctual",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": plain_pool(execution.pool),
        "messaging.message.id": str(execution.id),
        "punctual.attempt": facts.number,
    }
    if facts.attempt is not None:
        found["punctual.attempt.outcome"] = facts.attempt.outcome.lower()
    if execution.run_id is not None:
        found["cicd.pipeline.run.id"] = str(execution.run_id)
        found["cicd.pipeline.task.run.id"] = str(execution.id)
        if result:
            found["cicd.pipeline.task.run.result"] = result
    return found


def _error(facts: Facts) -> str:
    """Return the class of the attempt's error, '' for none: a code, never a message."""
    execution, attempt = facts.execution, facts.attempt
    if attempt is not None:
        failed = attempt.outcome != AttemptOutcome.SUCCEEDED
        return (attempt.error_code or attempt.outcome.lower()) if failed else ""
    if execution.status != Status.FAILED:
        return ""
    return execution.error_code or execution.reason or "_OTHER"


def _ended_at(facts: Facts) -> datetime | None:
    return facts.attempt.finished_at if facts.attempt else facts.execution.finished_at


def _link(facts: Facts) -> Link | None:
    """Return the span that came before: of the attempt before, or of what caused the execution."""
    execution, number = facts.execution, facts.number
    if number > 1:
        return _to(execution, number - 1)
    if facts.cause is None or not is_recorded(facts.cause.id.hex, facts.cause.trace_context):
        return None
    is_run = facts.cause.pool == WORKFLOW_POOL
    return _to(facts.cause, 1 if is_run else max(1, facts.cause.attempt))


def _to(execution: Execution, number: int) -> Link:
    context: TraceContext = context_of_attempt(execution.id.hex, execution.trace_context, number)
    return Link(context.trace_id, part_of(execution.id.hex, number, Part.ATTEMPT))
