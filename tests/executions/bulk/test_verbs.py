from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from events.models import AuditEntry, Event
from executions.bulk import setting, verbs
from executions.bulk import steps as bulk_steps
from executions.bulk.actions import (
    Action,
    BatchAction,
    action_of,
    apply_to,
    apply_together,
)
from executions.bulk.items import Order, Result
from executions.changes import cancellation, changing
from executions.choices import ItemOutcome, Status
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from executions.triggering.triggers import Override
from shared.exceptions import Unavailable
from shared.ids import new_id
from tasks import transitions as task_transitions
from tasks.choices import TaskStatus
from tasks.models import Task, TaskRevision
from tasks.revisions import definition_of
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, make_job, run_job
from tests.executions.bulk.zoo import make_zoo
from tests.executions.changes.changes import pause
from tests.executions.changes.standing import stand
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    executions_of,
    make_execution,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)

pytestmark = pytest.mark.django_db

VERBS = [("tasks", verb) for verb in ("pause", "resume", "cancel", "delete")]


#: Patches that leave the instants of a task alone.
PATCHES: list[dict[str, Any]] = [
    {"priority": 1},
    {"name": "Renamed", "owner": "ops@example.com"},
    # Brings tasks under the standing pause of the zoo, and others out of it.
    {"labels": {"team": "covering"}},
    {"labels": {"team": None}},
    {"target": {"url": "https://b.example/"}, "retry_policy": {"pause_after_failures": 7}},
    {"payload": {"more": 1}, "target": {"timeout_seconds": 7}, "priority": 9},
    {"target": {"headers": {"Cookie": "s3cret"}}},
]


class _Undone(Exception):
    """Undoes what was done to look at it."""


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both ways of doing a thing happen in the same moment."""
    now = database_now()
    for module in (setting, verbs, cancellation, changing):
        monkeypatch.setattr(module, "database_now", lambda: now)


def action(kind: str, verb: str) -> BatchAction:
    options = {"set": PATCHES[0]} if verb == "set" else {}
    found = action_of(BulkJob(kind=kind, action=verb, options=options))
    assert isinstance(found, BatchAction)
    return found


def order_for(tenant: Tenant, patch: dict[str, Any]) -> Order:
    options = {"note": "All."}
    return Order(new_id(), tenant.id, ACTOR, options, Override(patch), database_now())


def together(
    tenant: Tenant, kind: str, verb: str, ids: Sequence[UUID], patch: dict[str, Any] = PATCHES[0]
) -> list[Result]:
    return apply_together(action(kind, verb), order_for(tenant, patch), ids)


def one_by_one(
    tenant: Tenant, kind: str, verb: str, ids: Sequence[UUID], patch: dict[str, Any] = PATCHES[0]
) -> list[Result]:
    order, alone = order_for(tenant, patch), Action(action(kind, verb).alone)
    return [apply_to(alone, order, [item_id], 0.0)[0] for item_id in ids]


def done(act: Callable[..., list[Result]], *arguments: Any) -> dict[str, Any]:
    """Return everything that doing it leaves behind, and undo it."""
    told = AuditEntry.objects.count()
    left: dict[str, Any] = {}
    try:
        with transaction.atomic():
            left["results"] = act(*arguments)
            left["tasks"] = list(Task.objects.order_by("id").values())
            left["revisions"] = _revisions()
            left["executions"] = list(Execution.objects.order_by("id").values())
            entries = AuditEntry.objects.order_by("tenant_id", "sequence")
            columns = ("sequence", "actor", "action", "object_kind", "object_id", "before", "after")
            left["audit"] = sorted(entries.values_list(*columns), key=str)
            left["events"] = _events()
            raise _Undone
    except _Undone:
        assert AuditEntry.objects.count() == told
    return left


def _revisions() -> list[tuple[Any, ...]]:
    # Each sealing is another one: what was sealed is compared.
    found = TaskRevision.objects.order_by("task_id", "version")
    columns = ("task_id", "version", "definition", "changed_by")
    opened = [definition_of(one) for one in found]
    return list(zip(found.values_list(*columns), opened, strict=True))


def _events() -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for event in Event.objects.all():
        subjects = [event.subject_id] if event.subjects is None else event.subjects
        tasks = [event.task_id] if event.tasks is None else event.tasks
        for subject, task in zip(subjects, tasks, strict=True):
            found[event.name, subject, task, str(event.data)] += 1
    return found


def test_the_zoo_has_every_state(alpha: Tenant):
    make_zoo(alpha)

    tasks = set(Task.objects.values_list("status", flat=True))
    work = set(Execution.objects.values_list("status", flat=True))
    assert tasks == {str(status) for status in TaskStatus}
    assert work == {str(status) for status in Status} - {"SKIPPED"}


@pytest.mark.parametrize(("kind", "verb"), VERBS)
def test_many_tasks_at_once_become_what_each_would_alone(alpha: Tenant, kind: str, verb: str):
    ids = make_zoo(alpha)

    expected = done(one_by_one, alpha, kind, verb, ids)
    found = done(together, alpha, kind, verb, ids)

    assert {result.outcome for result in found["results"]} == {"done", "skipped"}
    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.parametrize(("kind", "verb"), VERBS)
def test_doing_it_twice_changes_what_doing_it_twice_alone_would(
    alpha: Tenant, kind: str, verb: str
):
    ids = make_zoo(alpha)
    together(alpha, kind, verb, ids)

    expected = done(one_by_one, alpha, kind, verb, ids)
    found = done(together, alpha, kind, verb, ids)

    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.parametrize(("first", "second"), [*pairwise(verb for _, verb in VERBS)])
def test_one_verb_after_the_other_leaves_what_they_leave_alone(
    alpha: Tenant, first: str, second: str
):
    ids = make_zoo(alpha)

    def twice(way: Callable[..., list[Result]]) -> list[Result]:
        return [*way(alpha, "tasks", first, ids), *way(alpha, "tasks", second, ids)]

    expected, found = done(twice, one_by_one), done(twice, together)

    for part, value in expected.items():
        assert found[part] == value, part


@pytest.mark.parametrize("patch", PATCHES)
def test_fields_are_set_for_many_as_for_each_alone(alpha: Tenant, patch: dict[str, Any]):
    ids = make_zoo(alpha)

    expected = done(one_by_one, alpha, "tasks", "set", ids, patch)
    found = done(together, alpha, "tasks", "set", ids, patch)

    assert ItemOutcome.DONE in {result.outcome for result in found["results"]}
    # A task that is edited and with that goes under a pause tells of it once, not twice.
    expected["events"], found["events"] = set(expected["events"]), set(found["events"])
    for part, value in expected.items():
        assert found[part] == value, part


def test_many_executions_are_cancelled_as_each_would_be_alone(alpha: Tenant, beta: Tenant):
    make_zoo(alpha)
    stranger = make_execution(beta)
    # One of each task: of several, the last execution of a task is told as by the recorder.
    first = {row.task_id: row.id for row in Execution.objects.filter(tenant=alpha).order_by("id")}
    ids = sorted([*first.values(), stranger.id, new_id()])

    expected = done(one_by_one, alpha, "executions", "cancel", ids)
    found = done(together, alpha, "executions", "cancel", ids)

    assert {result.code for result in found["results"]} == {"", "already_final", "not_found"}
    for part, value in expected.items():
        assert found[part] == value, part


def statements_of(act: Callable[[], object]) -> list[str]:
    """Return the statements that it sends."""
    sent: list[str] = []

    def note(execute: Any, sql: Any, *arguments: Any) -> Any:
        sent.append(str(sql))
        return execute(sql, *arguments)

    with connection.execute_wrapper(note):
        act()
    return sent


@pytest.mark.parametrize(("kind", "verb"), [*VERBS, ("tasks", "set"), ("executions", "cancel")])
def test_the_number_of_statements_does_not_grow_with_the_items(alpha: Tenant, kind: str, verb: str):
    def items(count: int) -> list[UUID]:
        tasks = [make_task(alpha, once()) for _ in range(count)]
        tasks += [make_task(alpha, every_second()) for _ in range(count)]
        tasks += [make_task(alpha, daily(labels={"a": "b"})) for _ in range(count)]
        prepare()
        # Some of each kind have begun, and some have not.
        started = [task.id for task in tasks[: count // 2]]
        pass_guard([row for row in release() if row.task_id in started])
        if verb == "resume":
            for task in tasks:
                pause(task)
        if kind == "tasks":
            return sorted(task.id for task in tasks)
        return sorted(row.id for task in tasks for row in executions_of(task))

    few = items(2)
    taken = len(statements_of(lambda: together(alpha, kind, verb, few)))
    many = items(12)

    assert len(statements_of(lambda: together(alpha, kind, verb, many))) == taken
    assert taken < 40


def test_a_job_goes_batch_by_batch(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk_steps, "_BATCH", 5)
    for _ in range(20):
        make_task(alpha, daily())
    job = make_job(alpha, "pause", "tasks")
    steps: list[int] = []

    def note(action: BatchAction, order: Order, ids: Sequence[UUID]) -> list[Result]:
        steps.append(len(ids))
        return apply_together(action, order, ids)

    monkeypatch.setattr(bulk_steps, "apply_together", note)

    run_job(job)

    assert steps == [5, 5, 5, 5]
    assert counts(job) == (20, 0, 0)


def test_tasks_under_a_pause_say_which_one_holds_them(alpha: Tenant):
    task = make_task(alpha)
    pause_ = stand(alpha)

    [result] = together(alpha, "tasks", "resume", [task.id])

    assert (result.outcome, result.code) == (ItemOutcome.SKIPPED, "paused_by_pause")
    assert str(pause_.id) in result.message


@pytest.mark.parametrize(
    ("kind", "verb"),
    [("tasks", "pause"), ("tasks", "cancel"), ("tasks", "delete"), ("executions", "cancel")],
)
def test_without_redis_nothing_of_a_batch_changes(
    alpha: Tenant, no_redis: Callable[[], None], kind: str, verb: str
):
    tasks = [make_task(alpha, once()), make_task(alpha, daily())]
    prepare()
    release()
    ids = [tasks[0].id, tasks[1].id] if kind == "tasks" else [executions_of(tasks[0])[0].id]
    before = list(Task.objects.order_by("id").values()), list(Execution.objects.values())
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        together(alpha, kind, verb, sorted(ids))

    assert (list(Task.objects.order_by("id").values()), list(Execution.objects.values())) == before


def test_resuming_asks_redis_for_nothing(alpha: Tenant, no_redis: Callable[[], None]):
    tasks = [make_task(alpha, daily()) for _ in range(2)]
    for task in tasks:
        pause(task)
    no_redis()

    together(alpha, "tasks", "resume", sorted(task.id for task in tasks))

    assert {reload(task).status for task in tasks} == {"SCHEDULED"}


@pytest.mark.parametrize(("kind", "verb"), [*VERBS, ("tasks", "set"), ("executions", "cancel")])
def test_a_batch_of_which_nothing_is_left_changes_nothing(alpha: Tenant, kind: str, verb: str):
    results = together(alpha, kind, verb, [new_id(), new_id()])

    what = kind.removesuffix("s")
    assert {(one.code, one.message) for one in results} == {
        ("not_found", f"There is no such {what}.")
    }


def test_a_batch_that_breaks_on_one_item_goes_item_by_item(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    tasks = [make_task(alpha, daily()) for _ in range(3)]
    monkeypatch.setattr(task_transitions, "pause", _break_on(tasks[1].id))

    job = run_job(make_job(alpha, "pause", "tasks"))

    assert job.status == "COMPLETED"
    assert counts(job) == (2, 0, 1)
    assert [reload(task).status for task in tasks] == ["PAUSED", "SCHEDULED", "PAUSED"]


def _break_on(task_id: UUID) -> Callable[..., Any]:
    real = task_transitions.pause

    def broken(task_ids: Sequence[UUID], *terms: Any) -> Any:
        if task_id in task_ids:
            raise ValueError("planted")
        return real(task_ids, *terms)

    return broken
