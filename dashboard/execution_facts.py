"""The data of the pictures of one execution: its states in order, and its attempts.

Common moves are written as batches, which no index finds by an execution. So its creation, its
hand-outs and its success come from its row and its attempts, all other moves from their events.
Starts come from the attempts, because a worker that starts and ends within one batch of the
recorder has only its end recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dashboard.pictures.attempt_phases import AttemptFacts
from dashboard.pictures.state_path import Visit
from events.models import Event
from executions.attempts import attempts_of
from executions.choices import LEASED, Status
from executions.models import Execution
from executions.states import MOVES
from executions.transitions import CANCEL_GRACE_SECONDS
from shared.conf import conf
from shared.instants import parse_instant
from shared.trace_context import TraceContext
from shared.tracing.sampling import context_of_attempt

_STATE_OF_EVENT = {
    "execution.materialized": Status.PENDING,
    **{move.event: move.target for move in MOVES},
}
#: States that an execution enters with the end of an attempt, and in no other way.
_ENDS_AN_ATTEMPT = frozenset({Status.RETRYING, Status.SUCCEEDED, Status.FAILED})
#: Events that take back a hand-out; they hold its time, which the row loses.
_UNDOES_A_HANDOUT = frozenset({"execution.withdrawn", "execution.released", "execution.deferred"})
#: Moves of one execution that a page shows: its first ones.
_MOST_MOVES = 200

#: A worker learns of a cancellation within this time.
_TOLD_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Stay:
    """The holder of an execution in words, since and until when, and the end of a cancelled one.

    ``hard_end_at`` is the latest end of an execution that is being cancelled.
    """

    words: str
    since: datetime | None
    lease_expires_at: datetime | None
    cancel_requested_at: datetime | None
    hard_end_at: datetime | None


def stay_of(execution: Execution, target: Mapping[str, Any]) -> Stay | None:
    """Return the holder of an execution that is handed out; None for any other."""
    if execution.status not in LEASED:
        return None
    asked, accepted = execution.cancel_requested_at, execution.accepted_at
    if accepted is None:
        words = ""
        seconds = _TOLD_SECONDS + target.get("cancel_grace_seconds", 0)
    else:
        pool = target["kind"] == "pool"
        words = "A worker of its pool has it" if pool else "It runs at the receiver"
        seconds = CANCEL_GRACE_SECONDS
    return Stay(
        words=words,
        since=accepted,
        lease_expires_at=execution.lease_expires_at,
        cancel_requested_at=asked,
        hard_end_at=None if asked is None else asked + timedelta(seconds=seconds),
    )


def attempt_facts(attempts: Sequence[Mapping[str, Any]]) -> list[AttemptFacts]:
    """Return the facts of presented attempts that the waterfall draws."""
    return [
        AttemptFacts(
            number=attempt["number"],
            state=attempt["outcome"],
            due_at=_moment(attempt["due_at"]),
            started_at=_moment(attempt["started_at"]),
            finished_at=_end_of(attempt),
            timings={name.removesuffix("_ms"): value for name, value in attempt["timings"].items()},
            response_status=attempt["response_status"],
            error_code=(attempt["error"] or {}).get("code", ""),
        )
        for attempt in attempts
    ]


def state_visits(execution: Execution) -> list[Visit]:
    """Return the states that the execution entered, in the order in which it did."""
    attempts = attempts_of([execution.pk])[execution.pk]
    events = Event.objects.filter(tenant_id=execution.tenant_id, subject_id=execution.pk)
    rows = list(events.order_by("id").values_list("name", "at", "data")[:_MOST_MOVES])
    handed = [*(attempt.queued_at for attempt in attempts), execution.queued_at]
    handed += [_undone(data) for name, _, data in rows if name in _UNDOES_A_HANDOUT]
    # Visits of the same moment keep this order.
    visits = [
        Visit(_first_state(execution).value, execution.created_at),
        *(Visit(Status.QUEUED.value, at) for at in handed if at is not None),
    ]
    # The worker's report has the end of an attempt; the event is written some milliseconds later.
    ends = iter(attempts)
    for state, at in ((_STATE_OF_EVENT.get(name), at) for name, at, _ in rows):
        if state is not None and state != Status.RUNNING:
            ended = next(ends, None) if state in _ENDS_AN_ATTEMPT else None
            visits.append(Visit(state.value, ended.finished_at if ended else at))
    if execution.finished_at is not None and execution.status not in {one.state for one in visits}:
        by_attempt = execution.status in _ENDS_AN_ATTEMPT and attempts
        end = attempts[-1].finished_at if by_attempt else execution.finished_at
        visits.append(Visit(execution.status, end))
    starts = [one.started_at for one in attempts if one.started_at is not None]
    if execution.status == Status.RUNNING and execution.started_at is not None:
        starts.append(max(execution.started_at, *starts) if starts else execution.started_at)
    visits += [Visit(Status.RUNNING.value, at) for at in starts]
    return _once_each(sorted(visits, key=lambda visit: visit.at))


def _undone(data: Any) -> datetime | None:
    """Return the time of the hand-out; events of earlier releases do not have it."""
    return None if data is None else _moment(data["queued_at"])


def _first_state(execution: Execution) -> Status:
    """Return the state that the row was made in: SKIPPED where its instant was skipped at once."""
    skipped = execution.status == Status.SKIPPED
    never_waited = skipped and execution.finished_at == execution.created_at
    return Status.SKIPPED if never_waited else Status.PENDING


def _once_each(visits: Sequence[Visit]) -> list[Visit]:
    """Leave out visits that a row and an event both report: no state follows itself."""
    former = ["", *(visit.state for visit in visits)]
    return [visit for visit, before in zip(visits, former, strict=False) if visit.state != before]


def _end_of(attempt: Mapping[str, Any]) -> datetime | None:
    """Return the end to the microsecond: shown times are cut to milliseconds, durations are not."""
    started, duration = _moment(attempt["started_at"]), attempt["duration_ms"]
    if started is None or duration is None:
        return _moment(attempt["finished_at"])
    return started + timedelta(milliseconds=duration)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text)


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A trace with the page of the operator's tool that shows it; '' where nothing is to see."""

    trace_id: str
    url: str


def traces_of(execution: Execution) -> list[ShownTrace]:
    """Return the trace of the execution, and that of its last attempt where it has its own."""
    numbers = dict.fromkeys((1, max(1, execution.attempt)))
    contexts = {
        context.trace_id: context
        for number in numbers
        for context in [
            context_of_attempt(execution.id.hex, execution.trace_context, number),
        ]
    }
    return [ShownTrace(one.trace_id, _url_of(one)) for one in contexts.values()]


def _url_of(context: TraceContext) -> str:
    # Where nothing is recorded here, the trace may be one of the caller's.
    seen = context.is_sampled or conf().tracing is None
    return conf().trace_url.replace("{trace_id}", context.trace_id) if seen else ""
