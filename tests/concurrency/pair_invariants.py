"""What holds after every pair of operations, in whichever order they committed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from events.models import AuditEntry
from executions.choices import FINAL
from executions.models import Attempt, DeadLetter, Execution
from tasks.models import Pause, Task, TaskCursor
from tests.concurrency.pair_world import EVERY_STEP, STEP, World

_ENDS = {f"execution.{status.lower()}" for status in FINAL}
_TWICE = "SELECT id FROM executions GROUP BY id HAVING count(*) > 1"
_MISPLACED = """
SELECT id FROM open_executions WHERE status = ANY(%(final)s)
UNION ALL SELECT id FROM ended_executions WHERE status <> ALL(%(final)s)
"""
_EVENTS = """
SELECT e.name, s.id FROM events e
CROSS JOIN LATERAL unnest(coalesce(e.subjects, ARRAY[e.subject_id])) AS s (id)
WHERE e.name LIKE 'execution.%%'
"""
_ENDED = "SELECT id, to_jsonb(e) #>> '{}' FROM ended_executions e WHERE scheduled_for > %s"


def check(world: World) -> None:
    """Hold the installation to all that must be true of it."""
    executions = list(Execution.objects.filter(task_id__in=[world.series.id, world.single.id]))
    _check_parts()
    _check_attempts(executions)
    _check_events(executions)
    _check_letters(executions)
    for task in (world.series, world.single):
        own = [row for row in executions if row.task_id == task.id]
        stored = Task.objects.get(pk=task.id)
        _check_task(stored, own)
        _check_cursor(stored)
        _check_audit(stored)
    _check_schedule(world, Task.objects.get(pk=world.series.id), executions)
    pauses = Pause.objects.values_list("id", flat=True)
    assert _audited("pause.created") == Counter(str(one) for one in pauses)


def ended(world: World) -> dict[UUID, str]:
    """Return all that has ended within the days that retention keeps, column by column."""
    return dict(_rows(_ENDED, [world.first_at - timedelta(days=1)]))


def _check_parts() -> None:
    assert _rows(_TWICE) == []
    assert _rows(_MISPLACED, {"final": list(FINAL)}) == []


def _check_attempts(executions: list[Execution]) -> None:
    by_id = {row.id: row for row in executions}
    found = list(Attempt.objects.filter(execution_id__in=by_id))
    numbers = Counter((attempt.execution_id, attempt.number) for attempt in found)
    assert set(numbers.values()) <= {1}
    for row in executions:
        running = row.status == "RUNNING"
        assert [number for execution, number in sorted(numbers) if execution == row.id] == list(
            range(1, row.attempt + (0 if running else 1))
        )


def _check_events(executions: list[Execution]) -> None:
    names: dict[UUID, Counter[str]] = {}
    for name, subject in _rows(_EVENTS):
        names.setdefault(subject, Counter())[name] += 1
    for row in executions:
        said = names.get(row.id, Counter())
        ends = {name: count for name, count in said.items() if name in _ENDS}
        assert ends == ({f"execution.{row.status.lower()}": 1} if row.status in FINAL else {})
        if row.trigger == "schedule" and row.status != "SKIPPED":
            # An instant that left the ledger and came back has one for each time.
            assert said["execution.materialized"] >= 1
        if row.attempt == 0:
            assert said["execution.started"] == 0


def _check_letters(executions: list[Execution]) -> None:
    failed = Counter(row.id for row in executions if row.status == "FAILED")
    letters = DeadLetter.objects.values_list("execution_id", flat=True)
    assert Counter(letters) == failed


def _check_cursor(task: Task) -> None:
    cursor = TaskCursor.objects.filter(task_id=task.id).first()
    if cursor is None:
        assert task.type == "ONE_TIME"
        return
    assert (cursor.tenant_id, cursor.partition) == (task.tenant_id, task.partition)
    if cursor.next_run_at is not None:
        assert cursor.held == (task.status != "SCHEDULED")
    else:
        assert task.type == "RECURRING"


def _check_task(task: Task, own: list[Execution]) -> None:
    open_ = [row for row in own if row.status not in FINAL]
    if task.status == "CANCELLED" or task.deleted_at:
        assert task.next_run_at is None
        # What had begun goes on, and is tried again when its worker or its receiver is lost.
        assert {row.status for row in open_} <= {"RUNNING", "RETRYING"}
        assert all(row.attempt > 0 for row in open_)
    if task.status == "PAUSED":
        waiting = [row for row in open_ if row.status != "RUNNING"]
        assert {row.status for row in waiting} <= {"PENDING", "RETRYING"}
        assert all(row.held for row in waiting)
    if task.type == "ONE_TIME":
        assert sum(row.trigger == "schedule" for row in own) == 1
    if task.status in ("COMPLETED", "FAILED"):
        assert task.next_run_at is None
        assert open_ == []


def _check_schedule(world: World, task: Task, executions: list[Execution]) -> None:
    """Every instant up to the cursor is in the ledger, once, and none beside the schedule."""
    instants = Counter(
        row.scheduled_for
        for row in executions
        if row.task_id == task.id and row.trigger == "schedule"
    )
    assert set(instants.values()) == {1}
    assert world.first_at in instants
    assert all((at - world.first_at) % timedelta(seconds=STEP) == timedelta() for at in instants)
    if task.next_run_at is None:
        return
    edited = task.schedule["cron_expression"] != EVERY_STEP
    step = timedelta(seconds=2 * STEP if edited else STEP)
    at = world.first_at
    while at < task.next_run_at:
        assert at in instants
        at += step


def _check_audit(task: Task) -> None:
    key = str(task.id)
    assert _audited("task.updated")[key] == task.version - 1
    assert _audited("task.deleted")[key] == (1 if task.deleted_at else 0)
    if task.status == "CANCELLED" and not task.deleted_at and task.type == "RECURRING":
        assert _audited("task.cancelled")[key] == 1
    if task.status == "PAUSED" and task.pause_id is None:
        assert _audited("task.paused")[key] >= 1


def _audited(action: str) -> Counter[str]:
    return Counter(AuditEntry.objects.filter(action=action).values_list("object_id", flat=True))


def _rows(text: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, parameters or {})
        return list(cursor.fetchall())
