"""Turns events into failures with their causes, and says which successes count for rules.

The alerter calls it inside the cursor's transaction, so a batch costs a fixed number of queries
for any number of events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from events.models import Event
from events.outbox import Recorded
from executions.attempts import of_executions
from executions.choices import COMPENSATION
from executions.models import Execution
from notifications.choices import AlertKind
from notifications.task_facts import TaskFacts, facts_of
from shared.addresses import host_of
from shared.ids import first_id_at, moment_of
from tasks.models import TaskRevision
from tasks.versions import FIRST_OF_STEPS, is_redirected

RETRYING, FAILED = "execution.retrying", "execution.failed"
SUCCEEDED = "execution.succeeded"
#: The events of an execution begin when it is prepared, seconds before its nominal time.
_EVENTS_BEFORE = timedelta(hours=1)

_SPOKEN = {
    # Of a run of a workflow: the status is that of a step.
    "http_status": "an HTTP status that is no success from {host}",
    "timeout_connect": "no connection in time to {host}",
    "timeout_total": "no answer in time from {host}",
    "dns_failed": "the name {host} cannot be resolved",
    "connection_refused": "connection refused by {host}",
    "connection_reset": "connection reset by {host}",
    "tls_failed": "TLS failed with {host}",
    "address_forbidden": "{host} leads to an address that is not public",
    "redirect_forbidden": "forbidden redirect from {host}",
    "secret_unavailable": "a named secret cannot be used for {host}",
    "response_invalid": "invalid answer from {host}",
    "response_mismatch": "an answer that misses the criteria from {host}",
    "worker_lost": "the worker died while calling {host}",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed execution, or the first failed attempt of one.

    ``kind`` is that of its own alert. ``task`` is as it is now. ``replays``: it is of a replay into
    another place, which is no run of the task, so that the task's count leaves it out.
    """

    tenant_id: UUID
    kind: str
    signature: str
    destination: str
    execution_id: UUID
    task: TaskFacts
    attempt: int
    error_code: str
    error_message: str
    at: datetime
    replays: bool = False

    @property
    def sentence(self) -> str:
        """Return the cause in words."""
        return spoken_cause(self.signature, self.destination)


@dataclass(frozen=True, slots=True)
class Success:
    """One execution of a task, or run of a workflow, that succeeded."""

    tenant_id: UUID
    task: TaskFacts
    at: datetime


def spoken_cause(signature: str, destination: str) -> str:
    """Return a cause in words: ``HTTP 503 from api.example.com``."""
    host = destination or "the receiver"
    code, _, status = signature.partition(":")
    if code == "http_status" and status:
        return f"HTTP {status} from {host}"
    return _SPOKEN.get(code, f"{code.replace('_', ' ')} ({{host}})").format(host=host)


def failures_of(events: Sequence[Recorded]) -> list[Failure]:
    """Return the failures among the events that count for alerts, in the order of the events."""
    first = _first_retries([event for event in events if event.name == RETRYING])
    wanted = [event for event in events if event.name == FAILED or event.id in first]
    if not wanted:
        return []
    ids = {event.subject_id for event in wanted}
    executions = _executions(ids)
    attempts = _first_attempts({event.subject_id for event in wanted if event.name == RETRYING})
    known = [event for event in wanted if event.subject_id in executions]
    hosts = _hosts(executions.values())
    tasks = facts_of({row["task_id"] for row in executions.values()})
    return [
        _failure(
            event,
            executions[event.subject_id],
            attempts.get(event.subject_id) if event.name == RETRYING else None,
            hosts,
            tasks,
        )
        for event in known
    ]


def successes_of(events: Sequence[Recorded]) -> list[Success]:
    """Return the successes of tasks and workflows among the events; a step's is none."""
    ended = [event for event in events if event.name == SUCCEEDED and event.task_id is not None]
    if not ended:
        return []
    tasks = facts_of({event.task_id for event in ended if event.task_id is not None})
    known = [(event, tasks[event.task_id]) for event in ended if event.task_id in tasks]
    unsure = {event.subject_id for event, task in known if task.is_workflow}
    steps = unsure - _executions(unsure).keys() if unsure else set()
    return [
        Success(event.tenant_id, task, event.at)
        for event, task in known
        if event.subject_id not in steps
    ]


def _failure(
    event: Recorded,
    execution: Mapping[str, Any],
    attempt: Mapping[str, Any] | None,
    hosts: Mapping[tuple[UUID, int], str],
    tasks: Mapping[UUID, TaskFacts],
) -> Failure:
    # A retried execution may be past the attempt of the event, so the attempt's own row counts.
    seen = attempt or execution
    task_id = execution["task_id"]
    return Failure(
        tenant_id=event.tenant_id,
        kind=_kind(event, execution),
        signature=_signature(seen),
        destination=hosts.get((task_id, execution["revision"]), ""),
        execution_id=event.subject_id,
        task=tasks.get(task_id) or TaskFacts(task_id),
        attempt=attempt["number"] if attempt else execution["attempt"],
        error_code=seen["error_code"],
        error_message=seen["error_message"],
        at=event.at,
        replays=is_redirected(execution["revision"]),
    )


def _kind(event: Recorded, execution: Mapping[str, Any]) -> str:
    if event.name == RETRYING:
        return AlertKind.FIRST_FAILURE
    if execution["revision"] >= FIRST_OF_STEPS:
        return AlertKind.COMPENSATION_FAILED
    return AlertKind.FINAL_FAILURE


def _signature(seen: Mapping[str, Any]) -> str:
    """Return the cause as dead letters are grouped by it."""
    if seen["error_code"] == "http_status" and seen["response_status"] is not None:
        return f"http_status:{seen['response_status']}"
    return str(seen["error_code"] or seen.get("reason") or "unknown")


def _first_retries(events: Sequence[Recorded]) -> set[UUID]:
    """Return the events that are the first retry of their execution.

    The events decide, because the execution's row may have changed since.
    """
    if not events:
        return set()
    ids = {event.subject_id for event in events}
    since = first_id_at(moment_of(min(ids)) - _EVENTS_BEFORE)
    rows = Event.objects.filter(subject_id__in=ids, name=RETRYING, id__gte=since)
    first = rows.order_by("subject_id", "id").distinct("subject_id").values_list("id", flat=True)
    return set(first) & {event.id for event in events}


def _executions(ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    found = Execution.objects.filter(id__in=ids, id__gte=min(ids), id__lte=max(ids))
    # A run of a workflow is alerted for its steps, but not for what should have undone one.
    rows = found.filter(Q(revision__lt=FIRST_OF_STEPS) | Q(item=COMPENSATION))
    columns = (
        *("id", "task_id", "revision", "attempt", "reason"),
        *("error_code", "error_message", "response_status"),
    )
    return {row["id"]: row for row in rows.values(*columns)}


def _first_attempts(ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    if not ids:
        return {}
    columns = ("execution_id", "number", "error_code", "error_message", "response_status")
    rows = of_executions(ids)
    ordered = rows.order_by("execution_id", "number").distinct("execution_id")
    return {row["execution_id"]: row for row in ordered.values(*columns)}


def _hosts(executions: Iterable[Mapping[str, Any]]) -> dict[tuple[UUID, int], str]:
    versions = {(row["task_id"], row["revision"]) for row in executions}
    if not versions:
        return {}
    wanted = Q(
        task_id__in={task for task, _ in versions}, version__in={version for _, version in versions}
    )
    rows = TaskRevision.objects.filter(wanted).values_list(
        "task_id", "version", "definition__target__origin", "definition__target__url"
    )
    return {(task, version): host_of(origin or url or "") for task, version, origin, url in rows}
