from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from executions.changes.changing import pause_task
from executions.ledger.objectives import Objective
from executions.loop.clocks import database_now
from executions.loop.lower_bounds import LowerBounds
from executions.materialize import stage as materialize
from executions.materialize import unowned_work
from executions.models import Execution
from executions.ownership.partitions import Partitions, Unowned
from executions.triggering.triggers import run_task
from insight.statistics.objectives import objectives_of
from shared.ids import execution_id
from shared.sql import rows
from tasks.models import Task, TaskBudget
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, every_second, executions_of, make_task, once, prepare, reload
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db

OUTAGE = timedelta(seconds=120)


@pytest.fixture
def partitions() -> Partitions:
    return Partitions()


def take_over(partitions: Partitions, since: timedelta = OUTAGE + timedelta(seconds=8)) -> None:
    """Take every partition over, as if nobody had owned any for so long."""
    partitions.run_once()
    now = database_now()
    stretch = Unowned(now - since, now)
    partitions.unowned = dict.fromkeys(partitions.held, stretch)
    partitions.neglected = dict(partitions.unowned)


def prepared(tenant: Tenant, policy: str, **schedule: Any) -> Task:
    """Return a task whose rows were prepared two minutes ago, when its scheduler died."""
    body = every_second(schedule={"every": "PT1S", "misfire_policy": policy, **schedule})
    task = make_task(tenant, body)
    prepare()
    rewind(task)
    return task


def rewind(task: Task) -> None:
    """Let everything of the task have been two minutes earlier."""
    for row in Execution.objects.filter(task_id=task.id):
        at = row.scheduled_for - OUTAGE
        Execution.objects.filter(id=row.id).update(
            id=execution_id(task.id, at), scheduled_for=at, due_at=row.due_at - OUTAGE
        )
    change_task(task.id, created_at=F("created_at") - OUTAGE, next_run_at=F("next_run_at") - OUTAGE)


def in_force() -> LowerBounds:
    """Return bounds that hide everything before now."""
    bounds = LowerBounds()
    bounds.begin()
    bounds.end([database_now()], database_now())
    bounds.in_force = True
    return bounds


def drain(partitions: Partitions) -> None:
    for _ in range(100):
        if materialize.run_once(partitions).next_in:
            return


def missed(task: Task) -> dict[tuple[str, str], int]:
    """Return (status, reason) -> instants of those that are older than a minute."""
    found: dict[tuple[str, str], int] = {}
    for row in executions_of(task):
        if row.scheduled_for < database_now() - timedelta(seconds=60):
            key = (row.status, row.reason)
            found[key] = found.get(key, 0) + (row.span_count or 1)
    return found


@pytest.mark.parametrize(
    ("policy", "runs", "reason"),
    [("skip", 0, "misfire_skipped"), ("coalesce", 1, "misfire_coalesced")],
)
def test_prepared_instants_do_not_escape_the_misfire_policy(
    alpha: Tenant, partitions: Partitions, policy: str, runs: int, reason: str
):
    task = prepared(alpha, policy)
    take_over(partitions)

    drain(partitions)

    late = [
        row
        for row in executions_of(task, "PENDING")
        if row.reason or row.scheduled_for < database_now() - timedelta(seconds=20)
    ]
    assert len(late) == runs
    assert set(missed(task)) == {("SKIPPED", reason)}
    # Each instant is in the ledger once.
    rows = [row for row in executions_of(task) if not row.span_count]
    assert len({row.scheduled_for for row in rows}) == len(rows)
    assert reload(task).occurrence_count == sum(row.span_count or 1 for row in executions_of(task))


def test_replay_runs_each_of_them(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "replay")
    before = len(executions_of(task))
    take_over(partitions)

    drain(partitions)

    assert set(missed(task)) == {("PENDING", "misfire_replayed")}
    assert len(executions_of(task)) > before + 100


def test_instants_that_come_back_are_looked_for_from_there_on(
    alpha: Tenant, partitions: Partitions
):
    task = prepared(alpha, "skip")
    # Due in the outage, by their jitter; nominally before it.
    for row in executions_of(task):
        at = row.scheduled_for - timedelta(minutes=5)
        Execution.objects.filter(id=row.id).update(id=execution_id(task.id, at), scheduled_for=at)
    first = min(row.scheduled_for for row in executions_of(task))
    bounds = in_force()
    take_over(partitions)

    unowned_work.take_up(partitions, bounds)

    assert bounds.since == [first]
    assert reload(task).next_run_at == first


def test_what_was_not_prepared_is_looked_for_from_the_outage_on(
    alpha: Tenant, partitions: Partitions
):
    bounds = in_force()
    take_over(partitions)
    since = partitions.neglected[0].since

    unowned_work.take_up(partitions, bounds)

    assert bounds.since == [since]


def test_instants_that_are_little_late_are_run(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second())
    prepare()
    before = {row.id for row in executions_of(task)}
    take_over(partitions)

    unowned_work.take_up(partitions)

    assert {row.id for row in executions_of(task)} == before
    assert not partitions.neglected


def test_work_that_had_waited_for_workers_before_is_run(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "skip")
    before = len(executions_of(task))
    # The scheduler died half a minute ago; the rows were due long before.
    take_over(partitions, timedelta(seconds=30))

    unowned_work.take_up(partitions)

    assert len(executions_of(task, "PENDING")) == before


def test_a_one_time_task_is_run_however_late(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once())
    prepare()
    Execution.objects.update(due_at=F("due_at") - OUTAGE)
    take_over(partitions, timedelta(hours=1))

    drain(partitions)

    assert [row.status for row in executions_of(task)] == ["PENDING"]


def test_what_is_not_the_schedules_own_stays(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once(database_now() + timedelta(days=1)))
    run_task(alpha.id, task.id, None, actor=ACTOR)
    Execution.objects.update(due_at=F("due_at") - OUTAGE)
    take_over(partitions, timedelta(hours=1))

    unowned_work.take_up(partitions)

    assert Execution.objects.count() == 1


def test_what_came_due_behind_the_gate_is_treated_alike(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "skip", overlap_policy="queue_all")
    assert all(row.gated for row in executions_of(task))
    take_over(partitions)

    drain(partitions)

    assert set(missed(task)) == {("SKIPPED", "misfire_skipped")}
    assert reload(task).occurrence_count == sum(row.span_count or 1 for row in executions_of(task))


def test_what_waited_for_its_turn_before_keeps_waiting(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "skip", overlap_policy="queue_all")
    before = len(executions_of(task))
    take_over(partitions, timedelta(seconds=30))

    unowned_work.take_up(partitions)

    assert len(executions_of(task, "PENDING")) == before


@pytest.mark.parametrize(
    "traits",
    [
        {"status": "RETRYING", "attempt": 1},
        {"attempt": 1},
        {"reason": "misfire_replayed"},
        {"held": True},
    ],
)
def test_what_has_begun_or_was_decided_stays(
    alpha: Tenant, partitions: Partitions, traits: dict[str, Any]
):
    prepared(alpha, "skip")
    Execution.objects.update(**traits)
    before = Execution.objects.count()
    take_over(partitions)

    unowned_work.take_up(partitions)

    assert Execution.objects.count() == before


def test_a_paused_task_keeps_its_rows(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "skip")
    pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
    Execution.objects.update(held=False)
    before = Execution.objects.count()
    take_over(partitions)

    unowned_work.take_up(partitions)

    assert Execution.objects.count() == before


def test_partitions_are_looked_after_until_nothing_is_left(
    alpha: Tenant, partitions: Partitions, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(unowned_work, "_BATCH", 1)
    prepared(alpha, "skip")
    take_over(partitions)

    assert unowned_work.take_up(partitions)
    assert partitions.neglected
    assert not unowned_work.take_up(partitions)

    assert not partitions.neglected
    assert partitions.ready


def test_without_neglected_partitions_nothing_is_asked(
    partitions: Partitions, monkeypatch: pytest.MonkeyPatch, db: None
):
    partitions.run_once()
    monkeypatch.setattr(unowned_work, "rows", lambda *_: pytest.fail("asked"))

    assert not unowned_work.take_up(partitions)


def test_rows_beyond_the_cursor_do_not_leave_the_count(alpha: Tenant, partitions: Partitions):
    task = prepared(alpha, "skip", max_occurrences=1000)
    first = min(row.scheduled_for for row in executions_of(task))
    # As after an edit: the cursor is before the prepared rows, whose count was taken back.
    change_task(task.id, next_run_at=first, occurrence_count=50)
    take_over(partitions)

    unowned_work.take_up(partitions)

    assert executions_of(task) == []
    assert (reload(task).next_run_at, reload(task).occurrence_count) == (first, 50)


#: What work waits for on hold -> its columns: the misfire policy judges the first ones.
_JUDGED: dict[str, dict[str, Any]] = {
    "gate": {"held": True, "gated": True},
    "key": {"held": True, "concurrency_key": "k", "key_place": 0},
    "runs of its tenant": {"held": True, "pool": "workflow", "reason": "tenant_limit"},
    "runs of its tenant, then key": {
        "held": True,
        "pool": "workflow",
        "reason": "tenant_limit",
        "concurrency_key": "k",
        "key_place": -1,
    },
}
_LEFT: dict[str, dict[str, Any]] = {
    "suspension": {"held": True, "reason": "tenant_suspended"},
    "destination": {"parked": True, "reason": "destination_rate"},
    "executions of its tenant": {"reason": "tenant_limit"},
}


@pytest.mark.parametrize("waits", [*_JUDGED, *_LEFT])
def test_what_has_not_begun_is_judged_for_whatever_it_waits_on_hold(
    alpha: Tenant, partitions: Partitions, waits: str
):
    task = prepared(alpha, "skip")
    before = {row.id for row in executions_of(task)}
    Execution.objects.filter(task_id=task.id).update(**{**_JUDGED, **_LEFT}[waits])
    overdue = rows("fence/overdue_tasks")
    take_over(partitions)

    drain(partitions)

    kept = before & {row.id for row in executions_of(task, "PENDING")}
    if waits in _JUDGED:
        assert overdue == [("skip", 1, len(before))]
        assert not kept
        assert set(missed(task)) == {("SKIPPED", "misfire_skipped")}
    else:
        assert overdue == [] or overdue[0][2] == 0
        assert kept == before


def test_what_the_gate_had_let_through_is_given_back_to_the_budget(
    alpha: Tenant, partitions: Partitions
):
    body = every_second(
        schedule={"every": "PT1S", "misfire_policy": "skip"},
        budget=[{"unit": "runs", "limit": 100, "per": "day"}],
    )
    task = make_task(alpha, body)
    prepare()
    rewind(task)
    TaskBudget.objects.filter(task_id=task.id).update(used=50)
    waits = executions_of(task)
    key = {"concurrency_key": "k", "key_place": 0}
    Execution.objects.filter(task_id=task.id).update(gated=False, counted=True, **key)
    take_over(partitions)

    unowned_work.take_up(partitions)

    assert TaskBudget.objects.get(task_id=task.id).used == 50 - len(waits)


@pytest.mark.parametrize("policy", ["skip", "coalesce"])
def test_instants_that_are_judged_once_more_are_counted_once(
    alpha: Tenant, partitions: Partitions, policy: str
):
    task = prepared(alpha, policy)
    first = Execution.objects.get(pk=executions_of(task)[0].id)
    queued = {"status": "QUEUED", "fencing_token": 1, "lease_expires_at": F("due_at")}
    Execution.objects.filter(pk=first.id).update(**queued)
    take_over(partitions)
    drain(partitions)
    counted = sum(missed(task).values())

    # A worker's part is returned.
    back = {"status": "PENDING", "fencing_token": None, "lease_expires_at": None}
    Execution.objects.filter(pk=first.id).update(**back)
    partitions.judge_again([(first.partition, first.due_at)])
    drain(partitions)

    [success] = [one for one in objectives_of(alpha.id) if one.objective == Objective.SUCCESS]
    instants = sum(
        row.span_count or 1 for row in executions_of(task) if row.reason.startswith("misfire_")
    )
    assert instants >= counted
    assert success.budget.whole.bad == success.budget.whole.total == instants
    assert sum(cause.bad for cause in success.causes) == instants
