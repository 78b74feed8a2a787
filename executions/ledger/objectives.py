"""The objectives, what spends their error budgets, and the counts of it.

:data:`CAUSES` is the one list of what is a fault of Punctual's own and what is external; the docs
repeat it, and the metrics count by it. Starts and attempts are counted with the minute statistics,
in the transaction that ends them; what misses an objective is a row of ``objective_counts`` of the
same statement. Housekeeping adds up hours and forgets them after :data:`KEPT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from executions.choices import AttemptOutcome
from executions.models import ObjectiveCount, ObjectiveHour
from executions.models.minute_stat import START_TARGET_MS
from shared.sql import rows, run
from shared.sql_arrays import of_integers, of_moments, of_texts, of_uuids


class Objective(StrEnum):
    """What is promised of the installation."""

    START = "start"
    SUCCESS = "success"
    API = "api"


#: One in this many starts, attempts or answers may miss the objective.
ONE_BAD_IN: Mapping[Objective, int] = {
    Objective.START: 1_000,
    Objective.SUCCESS: 10_000,
    Objective.API: 1_000,
}
#: The days of an error budget.
BUDGET_DAYS = 30
#: How long counts are kept: longer than a budget, whose first hour is a full one.
KEPT = timedelta(days=BUDGET_DAYS + 2)
#: Within this, counts are kept by the minute: burn rates of six hours read minutes.
_BY_MINUTE = timedelta(hours=8)
#: Rows that one statement folds.
_MOST_FOLDED = 50_000


class Origin(StrEnum):
    """Who has caused that an objective was missed, or that an attempt failed."""

    #: Counts against the objective.
    OWN = "own"
    #: Does not count against it.
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Cause:
    """An error code of an attempt, a decision about an instant, or what a start awaited."""

    code: str
    objective: Objective
    origin: Origin
    meaning: str


def _start(code: str, meaning: str) -> Cause:
    return Cause(code, Objective.START, Origin.OWN, meaning)


def _own(code: str, meaning: str) -> Cause:
    return Cause(code, Objective.SUCCESS, Origin.OWN, meaning)


def _external(code: str, meaning: str) -> Cause:
    return Cause(code, Objective.SUCCESS, Origin.EXTERNAL, meaning)


#: Waits before a start: the longer part decides.
WAITED_FOR_DISPATCH, WAITED_IN_WORKER = "waited_for_dispatch", "waited_in_worker"
SERVER_ERROR = "server_error"

#: Every cause, the ones of an objective together. An error code that is not here is external: it
#: is the word of a receiver, a handler or a worker of a tenant.
CAUSES: tuple[Cause, ...] = (
    _start(
        WAITED_FOR_DISPATCH,
        "The longer part of the delay passed before the execution was handed to a worker: no "
        "scheduler or no capacity, a limit, a circuit, a pause, an overlap.",
    ),
    _start(
        WAITED_IN_WORKER,
        "The longer part of the delay passed in a worker that had the execution already.",
    ),
    _own(
        "worker_lost", "A worker of Punctual went silent or stopped before the attempt had ended."
    ),
    _own("internal", "Punctual itself failed before an answer came."),
    _own("decryption_failed", "The stored payload could not be decrypted."),
    _own("misfire_skipped", "An instant passed without a scheduler, and the policy skips it."),
    _own(
        "misfire_coalesced",
        "Instants passed without a scheduler, and one run covers them; each counts.",
    ),
    _own(
        "misfire_grace_exceeded",
        "An instant passed without a scheduler for longer than its grace.",
    ),
    _external("http_status", "The receiver answered a status that is no success."),
    _external("response_mismatch", "The answer missed the criteria of the task."),
    _external("response_invalid", "The answer was no valid HTTP."),
    _external("timeout_connect", "The receiver did not accept a connection in time."),
    _external("timeout_total", "The call or the program had not ended in time."),
    _external("dns_failed", "The name of the receiver could not be resolved."),
    _external("connection_refused", "The receiver refused the connection."),
    _external("connection_reset", "The receiver closed the connection early."),
    _external("tls_failed", "No secure connection to the receiver could be made."),
    _external("redirect_forbidden", "The receiver redirected."),
    _external("address_forbidden", "The receiver has an address that may not be called."),
    _external("secret_unavailable", "The target names a secret that the tenant does not have."),
    _external("handler_error", "The handler, or the holder of the work, reported a failure."),
    _external("command_failed", "The command ended with an exit code that is no success."),
    _external("heartbeat_lost", "A receiver that had accepted the work fell silent."),
    Cause(
        SERVER_ERROR, Objective.API, Origin.OWN, "A call was answered with a status of 500 to 599."
    ),
)
#: Error codes of attempts that are faults of Punctual's own.
OWN_FAULTS = frozenset({"worker_lost", "internal", "decryption_failed"})


class Spend(NamedTuple):
    """What spends a budget within a minute: the parts of a row of ``objective_counts``."""

    tenant_id: UUID
    at: datetime
    objective: Objective
    band: int
    cause: str


def late_cause(start_delay_ms: float | None, waited_ms: float | None) -> str:
    """Return why a first attempt started late; empty within the target, or without a delay.

    ``waited_ms`` is the part of the delay in which a worker had the execution.
    """
    if start_delay_ms is None or start_delay_ms <= START_TARGET_MS:
        return ""
    waited = waited_ms or 0.0
    return WAITED_IN_WORKER if waited > start_delay_ms - waited else WAITED_FOR_DISPATCH


def own_fault(outcome: str, error_code: str, *, leased: bool) -> str:
    """Return the own fault that ended an attempt; empty for success, cancel and external failures.

    A ``leased`` execution was with a worker of its tenant, whose loss is external.
    """
    if outcome == AttemptOutcome.WORKER_LOST:
        return "" if leased else "worker_lost"
    is_own = outcome == AttemptOutcome.FAILED and error_code in OWN_FAULTS
    return error_code if is_own and error_code != "worker_lost" else ""


def columns(spends: Sequence[tuple[Spend, UUID]]) -> dict[str, object]:
    """Return the parameters of a statement that adds what was spent beside its own work."""
    return _columns(spends) if spends else _NOTHING


def _columns(spends: Iterable[tuple[Spend, UUID]]) -> dict[str, object]:
    counts: Counter[Spend] = Counter()
    examples: dict[Spend, UUID] = {}
    for spend, execution_id in spends:
        counts[spend] += 1
        examples[spend] = execution_id
    return {
        "spent_by": of_uuids([one.tenant_id for one in counts]),
        "spent_at": of_moments([one.at for one in counts]),
        "spent_of": of_texts([one.objective for one in counts]),
        "spent_bands": of_integers([one.band for one in counts]),
        "spent_causes": of_texts([one.cause for one in counts]),
        "spent": of_integers(list(counts.values())),
        "spent_examples": of_uuids([examples[one] for one in counts]),
    }


#: Most batches spend nothing.
_NOTHING = _columns(())


class Answers(NamedTuple):
    """Answers of the API to a tenant, and how many of them were 5xx.

    Calls for which no tenant was found are those of ``shared.tenant_scope.NO_TENANT``.
    """

    tenant_id: UUID
    answers: int
    errors: int


def add_answers(counted: Sequence[Answers]) -> None:
    """Add answers of the API to the minute under way, in one statement."""
    run(
        "objectives/add_answers",
        {
            "tenants": of_uuids([one.tenant_id for one in counted]),
            "answers": of_integers([one.answers for one in counted]),
            "errors": of_integers([one.errors for one in counted]),
            "objective": str(Objective.API),
            "cause": SERVER_ERROR,
        },
    )


def roll_up(since: datetime, until: datetime) -> None:
    """Store the hours of these minutes; both moments begin an hour. A repeat changes nothing."""
    run("objectives/roll_up_hours", {"since": since, "until": until})


def fold(now: datetime) -> int:
    """Add up the rows of past hours to one for each hour and cause; return how many went.

    No sum changes. Two sessions at once do no harm.
    """
    before = now.replace(minute=0, second=0, microsecond=0) - _BY_MINUTE
    gone, part = 0, _MOST_FOLDED
    while part == _MOST_FOLDED:
        part = int(rows("objectives/fold", {"before": before, "most": _MOST_FOLDED})[0][0])
        gone += part
    return gone


def prune(now: datetime) -> int:
    """Delete what no budget reads any more; return how many rows."""
    oldest = now - KEPT
    counts, _ = ObjectiveCount.objects.filter(at__lt=oldest, hourly=True).delete()
    hours, _ = ObjectiveHour.objects.filter(hour__lt=oldest).delete()
    return counts + hours
