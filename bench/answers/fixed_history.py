"""Executions in every status, with their attempts and dead letters, of fixed ids and times.

Rows are made as the product would have left them and are written by :func:`write`, which is the
only place that knows the tables.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import cycle
from typing import TYPE_CHECKING, Any

from bench.answers.fixed_tasks import Planned, settle
from bench.answers.shapes import FINAL_SHAPES, OPEN_SHAPES, Shape
from bench.answers.stand import NOW, fixed_id

if TYPE_CHECKING:
    from executions.models import Attempt, DeadLetter, Execution
    from tasks.models import Task

_MINUTE = timedelta(minutes=1)
#: The number of latest instants of each recurring task that have not ended.
_OPEN = 2
_RESOLUTIONS = ("", "", "retried", "fixed", "ignored")


@dataclass(slots=True)
class History:
    """What is written of a tenant's history."""

    executions: list[Execution] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)


def make_history(tasks: Iterable[tuple[Planned, Task]], kind: int) -> History:
    """Return the rows of every task of a tenant, and settle what the tasks say of them."""
    found = History()
    final, opened = cycle(FINAL_SHAPES), cycle(OPEN_SHAPES)
    for plan, task in tasks:
        made = [
            _execution(found, task, at, shape, **more)
            for at, shape, more in _rows(plan, task, final, opened)
        ]
        if made:
            _settle(task, made)
            _add_more(found, task, made, kind)
    for number, execution in enumerate(found.executions):
        if execution.status == "FAILED":
            found.letters.append(_letter(execution, kind, number))
    return found


def write(history: History) -> None:
    """Write the rows."""
    from executions.models import Attempt, DeadLetter, Execution

    Execution.objects.bulk_create(history.executions)
    Attempt.objects.bulk_create(history.attempts)
    DeadLetter.objects.bulk_create(history.letters)


def _rows(
    plan: Planned, task: Task, final: Iterator[Shape], opened: Iterator[Shape]
) -> Iterator[tuple[datetime, Shape, dict[str, Any]]]:
    """Yield each instant of the history with what became of it, oldest first; spans as one."""
    from shared.instants import parse_instant

    if plan.step is None:
        if plan.count:
            yield parse_instant(task.schedule["run_at"]), _of_one_time(task.status), {}
        return
    latest = NOW - (plan.step if plan.ago is None else plan.ago)
    ends = task.status in ("COMPLETED", "CANCELLED") or task.deleted_at is not None
    least = 0 if ends else _OPEN
    back = plan.count - 1
    while back >= 0:
        at = latest - back * plan.step
        shape = next(final) if back >= least else next(opened)
        many = min(shape.span, back - least + 1)
        last = at + (many - 1) * plan.step
        yield at, shape, {"span_count": many, "span_last": last} if many > 1 else {}
        back -= max(1, many)


def _of_one_time(status: str) -> Shape:
    names = {"COMPLETED": "succeeded", "FAILED": "failed", "CANCELLED": "cancelled"}
    if status == "RUNNING":
        return next(shape for shape in OPEN_SHAPES if shape.name == "running")
    return next(shape for shape in FINAL_SHAPES if shape.name == names[status])


def _execution(history: History, task: Task, at: datetime, shape: Shape, **more: Any) -> Execution:
    from executions.models import Execution
    from shared.ids import execution_id

    columns: dict[str, Any] = {
        "id": execution_id(task.id, at),
        "tenant_id": task.tenant_id,
        "task_id": task.id,
        "partition": task.partition,
        "priority": task.priority,
        "pool": task.pool,
        "destination": task.destination,
        "revision": 1,
        "scheduled_for": at,
        "due_at": at,
        "created_at": at - timedelta(seconds=10),
        **shape.columns(at),
        **more,
    }
    token = 1000 + len(history.executions)
    if columns["status"] in ("QUEUED", "RUNNING"):
        columns |= {"fencing_token": token, "lease_expires_at": NOW + 2 * _MINUTE}
    elif shape.attempts:
        columns["fencing_token"] = token
    execution = Execution(**columns)
    _seal(execution, len(history.executions))
    history.executions.append(execution)
    history.attempts += _attempts(execution, shape, token)
    return execution


def _seal(execution: Execution, number: int) -> None:
    """Give some of the executions a payload of their own, progress and a result."""
    from executions.payloads import seal_payload
    from shared.encryption import seal_json
    from shared.sealing_contexts import progress_context, result_context

    if number % 7 == 0:
        execution.sealed_payload = seal_payload(
            {"number": number}, execution.tenant_id, execution.id
        )
    if execution.status == "RUNNING":
        progress = {"percent": number % 100}
        execution.sealed_progress = seal_json(
            progress, progress_context(execution.tenant_id, execution.id)
        )
    if execution.status == "SUCCEEDED" and number % 5 == 0:
        execution.sealed_result = seal_json(
            {"rows": number}, result_context(execution.tenant_id, execution.id)
        )


def _attempts(execution: Execution, shape: Shape, token: int) -> Iterator[Attempt]:
    from executions.models import Attempt
    from shared.ids import attempt_id

    started = execution.started_at or execution.due_at
    for number, tried in enumerate(shape.attempts, start=1):
        at = started + (number - 1) * 5 * _MINUTE
        yield Attempt(
            id=attempt_id(execution.id, number, token),
            execution_id=execution.id,
            tenant_id=execution.tenant_id,
            number=number,
            fencing_token=token,
            worker="worker-1",
            due_at=execution.due_at if number == 1 else at,
            started_at=at,
            finished_at=at + timedelta(milliseconds=80 * number),
            outcome=tried.outcome,
            error_code=tried.error_code,
            error_message=tried.error_message,
            response_status=None if execution.pool == "handlers" else tried.response_status,
            timings={"dns": 0.5, "connect": 1.25, "first_byte": 70.125, "total": 79.0 + number},
            sealed_response=_captured(execution, number) if tried.response_status else None,
        )


def _captured(execution: Execution, number: int) -> bytes:
    """Return the answer of a receiver, or the log of a handler, sealed."""
    from shared.encryption import seal_json
    from shared.sealing_contexts import response_context

    captured: dict[str, Any] = {
        "headers": [["Content-Type", "text/plain"], ["X-Number", str(number)]],
        "body": base64.b64encode(b"answer %d" % number).decode(),
        "truncated": number == 2,
        "address": "192.0.2.1",
        "encoding": "",
    }
    if execution.pool == "handlers":
        log = base64.b64encode(b"line %d\n" % number).decode()
        captured = {"log": log, "truncated": False, "exit_code": None}
    return seal_json(captured, response_context(execution.tenant_id, execution.id))


def _settle(task: Task, made: list[Execution]) -> None:
    """Write the last run of a task and its last success."""
    ended = [row for row in made if row.finished_at and row.status != "SKIPPED"]
    if not ended:
        return
    last = max(ended, key=lambda row: (row.finished_at, row.id))
    good = [row.finished_at for row in ended if row.status == "SUCCEEDED" and row.finished_at]
    from tasks.models.task import LastRun

    run = LastRun(last.id, last.status, last.finished_at, max(good, default=None))
    settle(task.id, {"last_run": run})


def _add_more(history: History, task: Task, made: list[Execution], kind: int) -> None:
    """Add a run by hand to each task that has failed or ended, and a retry of its last failure."""
    from shared.ids import series_id

    shapes = {shape.name: shape for shape in (*FINAL_SHAPES, *OPEN_SHAPES)}
    at = NOW - timedelta(minutes=30 + len(history.executions) % 20)
    if task.partition % 3 == 0:
        more = {"id": series_id(task.id, at, at, "manual"), "trigger": "manual"}
        _execution(history, task, at, shapes["succeeded"], **more)
    failed = next((row for row in reversed(made) if row.status == "FAILED"), None)
    if failed is not None:
        more = {
            "id": series_id(task.id, at, failed.scheduled_for, "retry"),
            "trigger": "retry",
            "parent_id": failed.id,
            "scheduled_for": failed.scheduled_for,
            "due_at": at,
            "trace_context": f"{failed.id.hex}-01",
        }
        _execution(history, task, at, shapes["succeeded"], **more)
    if task.name == "Daily in Berlin":
        series = fixed_id(NOW - timedelta(hours=3), kind + 1, 0)
        for number in range(6):
            past = NOW - timedelta(days=40 + number)
            name = ("succeeded", "failed", "pending", "gated", "running", "cancelled")[number]
            more = {
                "id": series_id(task.id, at, past, str(series)),
                "trigger": "backfill",
                "series_id": series,
                "scheduled_for": past,
                "due_at": at,
            }
            _execution(history, task, at, shapes[name], **more)


def _letter(execution: Execution, kind: int, number: int) -> DeadLetter:
    from executions.models import DeadLetter

    resolution = _RESOLUTIONS[number % len(_RESOLUTIONS)]
    at = execution.finished_at or NOW
    return DeadLetter(
        id=fixed_id(at, kind + 2, number),
        tenant_id=execution.tenant_id,
        task_id=execution.task_id,
        execution_id=execution.id,
        error_code=execution.error_code,
        error_message=execution.error_message,
        error_signature=f"{execution.error_code}:{execution.response_status or ''}",
        attempt_count=execution.attempt,
        revision=execution.revision,
        sealed_payload=execution.sealed_payload,
        resolved=bool(resolution),
        resolution=resolution,
        note="Looked at." if resolution else "",
        resolved_by="ann" if resolution else "",
        resolved_at=at + _MINUTE if resolution else None,
        created_at=at,
    )
