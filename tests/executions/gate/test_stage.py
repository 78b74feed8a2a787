"""The gate: what an overlap policy or a limit holds back is let go, skipped, or waits (A7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from events.models import Event
from executions import transitions
from executions.gate import stage as gate
from executions.ledger import final_log
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution, PartitionLease
from executions.ownership.partitions import Partitions, Unowned
from executions.triggering.triggers import run_task
from insight.statistics import next_fires, overview
from shared import sql
from shared.exceptions import Unavailable
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.gate.gated import (
    HOUR,
    Look,
    limited,
    make_look,
    prepare_more,
    running,
    states,
)
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_task,
    pass_guard,
    prepare,
    release,
    start,
)
from wire import start_guard

pytestmark = pytest.mark.django_db

POLICIES = ["skip", "queue_one", "queue_all", "cancel_running"]


@pytest.fixture
def look(db: None) -> Look:
    return make_look()


# --- preparing ------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", [{"overlap_policy": "skip"}, {"max_concurrent": 3}])
def test_instants_of_a_limited_task_are_prepared_behind_the_gate(
    alpha: Tenant, schedule: dict[str, Any]
):
    task = limited(alpha, **schedule)

    (row,) = executions_of(task)

    assert (row.gated, row.held, row.counted) == (True, True, False)
    assert release() == []


def test_other_tasks_never_come_to_the_gate(alpha: Tenant, look: Look):
    task = limited(alpha)
    (row,) = executions_of(task)
    assert (row.gated, row.held) == (False, False)

    assert look().done == 0

    assert len(release()) == 1
    assert not executions_of(task)[0].counted


def test_nothing_is_let_go_early_and_the_next_look_is_at_the_instant(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    task = limited(alpha, overlap_policy="skip")
    moment = database_now()
    monkeypatch.setattr(gate, "database_now", lambda: moment)
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: 5.0))
    Execution.objects.update(due_at=moment + timedelta(seconds=0.9))

    counts = look()

    assert (counts.done, states(task)) == (0, ["waits"])
    assert counts.next_in == pytest.approx(0.9 + gate._JUST_AFTER)


def test_the_time_that_a_look_takes_is_no_delay_of_the_next_one(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    limited(alpha, overlap_policy="skip")
    task = limited(alpha, overlap_policy="skip")
    moment, clock, real = database_now(), [5.0], gate._standings
    monkeypatch.setattr(gate, "database_now", lambda: moment)
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    Execution.objects.filter(task_id=task.id).update(due_at=moment + timedelta(seconds=0.9))

    def slow(keys: Any) -> Any:
        clock[0] += 0.2
        return real(keys)

    monkeypatch.setattr(gate, "_standings", slow)

    counts = look()

    assert counts.done == 1
    assert counts.next_in == pytest.approx(0.5 + gate._JUST_AFTER)


# --- deciding -------------------------------------------------------------------------------

WITH_ROOM = {
    "skip": ["admitted", "SKIPPED", "SKIPPED"],
    "queue_one": ["admitted", "waits", "SKIPPED"],
    "queue_all": ["admitted", "waits", "waits"],
    "cancel_running": ["SKIPPED", "SKIPPED", "admitted"],
}
WITHOUT_ROOM = {
    "skip": ["SKIPPED", "SKIPPED", "SKIPPED"],
    "queue_one": ["waits", "SKIPPED", "SKIPPED"],
    "queue_all": ["waits", "waits", "waits"],
    "cancel_running": ["SKIPPED", "SKIPPED", "waits"],
}


@pytest.mark.parametrize("policy", POLICIES)
def test_an_instant_that_finds_a_place_is_let_go(alpha: Tenant, look: Look, policy: str):
    task = limited(alpha, overlap_policy=policy)
    due = executions_of(task)[0].due_at

    assert look().done == 1

    (row,) = executions_of(task)
    assert (row.gated, row.held, row.counted) == (False, False, True)
    # Its start delay begins at its own time: it did not have to wait.
    assert row.due_at == due
    assert [claimed.id for claimed in release()] == [row.id]


@pytest.mark.parametrize("policy", POLICIES)
def test_several_that_come_due_at_once_find_one_place(alpha: Tenant, look: Look, policy: str):
    task = limited(alpha, 3, overlap_policy=policy)

    look()

    assert states(task) == WITH_ROOM[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_while_one_runs_the_policy_decides_on_the_others(alpha: Tenant, look: Look, policy: str):
    task, _ = running(alpha, look, 3, overlap_policy=policy)

    look()
    look()

    assert states(task) == ["RUNNING", *WITHOUT_ROOM[policy]]


@pytest.mark.parametrize("policy", ["allow", *POLICIES])
def test_max_concurrent_is_the_number_of_places(alpha: Tenant, look: Look, policy: str):
    task = limited(alpha, 5, overlap_policy=policy, max_concurrent=2)

    look()

    assert states(task).count("admitted") == 2
    assert look().done == 0


def test_skipped_instants_say_why_and_end_there(alpha: Tenant, look: Look):
    task, _ = running(alpha, look, 1, overlap_policy="skip")

    look()

    row = executions_of(task)[-1]
    assert (row.status, row.reason, row.held) == ("SKIPPED", "overlap_skipped", False)
    assert row.finished_at is not None
    assert Event.objects.filter(subject_id=row.id, name="execution.skipped").count() == 1


def test_what_waits_is_let_go_in_order_when_a_place_is_free(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 2, overlap_policy="queue_all")
    before = executions_of(task)
    assert look().next_in <= 1.0

    finish(claimed)
    look()

    after = executions_of(task)
    assert states(task) == ["SUCCEEDED", "admitted", "waits"]
    # It could not start before, so that its wait is no delay of ours.
    assert after[1].due_at > before[1].due_at
    assert after[1].scheduled_for == before[1].scheduled_for


@pytest.mark.parametrize("status", ["QUEUED", "RETRYING", "RUNNING"])
def test_unfinished_work_keeps_its_place(alpha: Tenant, look: Look, status: str):
    task = limited(alpha, 2, overlap_policy="queue_all")
    look()
    (claimed,) = release()
    if status != "QUEUED":
        start([claimed])
    if status == "RETRYING":
        finish(claimed, "RETRYING", retry_in=60.0)

    assert look().done == 0

    assert states(task) == [status, "waits"]


def test_a_retry_does_not_queue_again(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 1, overlap_policy="queue_all")
    finish(claimed, "RETRYING", retry_in=0.0)

    look()

    assert [row.id for row in release()] == [claimed.id]
    assert states(task) == ["QUEUED", "waits"]


def test_a_run_by_hand_does_not_wait_and_takes_a_place(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 1, overlap_policy="queue_all")
    run_task(alpha.id, task.id, None, actor=ACTOR)
    assert len(release()) == 1

    finish(claimed)
    look()

    assert states(task) == ["SUCCEEDED", "waits", "QUEUED"]


# --- cancelling what runs -------------------------------------------------------------------


@pytest.fixture
def aborted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect what workers are told to abort."""
    told: list[int] = []
    monkeypatch.setattr(gate, "abort_on_commit", told.extend)
    return told


def test_what_runs_is_asked_to_end_and_its_successor_waits_for_that(
    alpha: Tenant, look: Look, aborted: list[int]
):
    task, claimed = running(alpha, look, 1, overlap_policy="cancel_running")

    look()
    look()

    assert aborted == [claimed.token]
    assert states(task) == ["RUNNING", "waits"]
    finish(claimed, "CANCELLED", reason="cancelled")
    look()
    assert states(task) == ["CANCELLED", "admitted"]
    assert executions_of(task)[0].reason == "overlap_cancelled"


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        ("SUCCEEDED", "", ""),
        ("FAILED", "attempts_exhausted", "attempts_exhausted"),
        ("RETRYING", "", "overlap_cancelled"),
    ],
)
def test_one_that_ends_by_itself_meanwhile_says_so(
    alpha: Tenant, look: Look, status: str, said: str, expected: str
):
    task, claimed = running(alpha, look, 1, overlap_policy="cancel_running")
    look()

    finish(claimed, status, reason=said)

    assert executions_of(task)[0].reason == expected


@pytest.mark.parametrize("status", ["admitted", "QUEUED", "RETRYING"])
def test_what_has_not_started_makes_room_at_once(alpha: Tenant, look: Look, status: str):
    task = limited(alpha, 1, overlap_policy="cancel_running")
    look()
    claimed = release() if status != "admitted" else []
    if status == "RETRYING":
        start(claimed)
        finish(claimed[0], "RETRYING", retry_in=60.0)
    assert states(task) == [status]
    prepare_more(task)

    look()

    assert states(task) == ["CANCELLED", "admitted"]
    assert executions_of(task)[0].reason == "overlap_cancelled"
    if status == "QUEUED":
        assert pass_guard(claimed) == [0]


def test_what_passed_the_start_guard_already_counts_as_running(
    alpha: Tenant, look: Look, aborted: list[int]
):
    task = limited(alpha, 1, overlap_policy="cancel_running")
    look()
    claimed = release()
    pass_guard(claimed)
    prepare_more(task)

    look()

    assert states(task) == ["RUNNING", "waits"]
    assert aborted == [claimed[0].token]


@pytest.mark.logs("overlap.not_cancelled")
def test_without_redis_nothing_is_cancelled_and_the_successor_waits(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    def away(tokens: object) -> list[str]:
        raise Unavailable("away")

    task = limited(alpha, 1, overlap_policy="cancel_running")
    look()
    release()
    prepare_more(task)
    monkeypatch.setattr(start_guard, "void", away)

    look()

    assert states(task) == ["QUEUED", "waits"]


# --- bulk jobs ------------------------------------------------------------------------------


def series_of(task: Task, rows: int, **options: Any) -> BulkJob:
    """Let the last gated rows of the task be those of a bulk job."""
    job = BulkJob.objects.create(
        tenant_id=task.tenant_id,
        kind="occurrences",
        action="backfill",
        options=options,
        total=rows,
        next_at=database_now(),
        created_by="test",
    )
    ids = [row.id for row in executions_of(task)[-rows:]]
    Execution.objects.filter(id__in=ids).update(series_id=job.id, trigger="backfill")
    return job


def test_a_bulk_job_has_places_of_its_own(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 5, overlap_policy="skip")
    job = series_of(task, 4, overlap_policy="allow", max_parallel=2)

    look()

    assert states(task) == ["RUNNING", "SKIPPED", "admitted", "admitted", "waits", "waits"]
    assert gate.standing(task, job.id).limit == 2
    finish(claimed)
    assert gate.standing(task).active == []


def test_what_a_bulk_job_made_goes_one_by_one_unless_it_says_more(alpha: Tenant, look: Look):
    task = limited(alpha, 3, overlap_policy="skip")
    series_of(task, 3)

    look()

    assert states(task) == ["admitted", "waits", "waits"]


def test_the_backlog_of_one_job_hides_no_other_group(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gate, "_CHUNK", 2)
    task = limited(alpha, 9, overlap_policy="queue_all")
    series_of(task, 8, max_parallel=1)
    series_of(task, 4, max_parallel=1)
    beyond = limited(alpha, 1, overlap_policy="queue_all")

    while look().next_in == 0.0:
        pass

    assert states(task) == [
        "admitted",
        *("admitted", "waits", "waits", "waits"),
        *("admitted", "waits", "waits", "waits"),
    ]
    assert states(beyond) == ["admitted"]


# --- looks ----------------------------------------------------------------------------------


def test_a_look_that_takes_long_goes_on_where_it_ended(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gate, "_CHUNK", 1)
    monkeypatch.setattr(gate, "_SECONDS", -1.0)
    tasks = [limited(alpha, overlap_policy="skip") for _ in range(3)]

    looks = [look() for _ in tasks]

    assert [counts.done for counts in looks] == [1, 1, 1]
    assert {counts.next_in for counts in looks} == {0.0}
    assert [states(task) for task in tasks] == [["admitted"]] * 3


def test_more_than_fits_one_transaction_is_decided_at_once(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gate, "_OF_GROUP", 2)
    task, _ = running(alpha, look, 5, overlap_policy="queue_one")

    assert look().next_in == 0.0
    while look().next_in == 0.0:
        pass

    assert states(task) == ["RUNNING", "waits", *["SKIPPED"] * 4]


def test_a_group_that_a_round_of_several_looks_did_not_find_is_forgotten(alpha: Tenant):
    now = database_now()
    gone, found = (UUID(int=1), None), (UUID(int=2), None)
    full: dict[gate.Key, datetime] = {gone: now - HOUR, found: now}
    seen = gate.Seen(after=UUID(int=3), began=now, full=full)
    partitions = Partitions()
    partitions.run_once()

    gate.run_once(partitions, seen)

    assert seen.full == {found: now}


def test_without_partitions_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, db: None):
    monkeypatch.setattr(gate, "rows", lambda *_: pytest.fail("asked"))

    assert gate.run_once(Partitions()).done == 0


def test_a_scheduler_that_lost_its_partitions_lets_nothing_go(alpha: Tenant):
    task = limited(alpha, overlap_policy="skip")
    zombie = Partitions()
    zombie.run_once()
    PartitionLease.objects.update(epoch=F("epoch") + 1)

    gate.run_once(zombie)

    assert states(task) == ["waits"]


def test_what_nobody_cared_for_is_left_to_the_misfire_policy(alpha: Tenant):
    task = limited(alpha, overlap_policy="skip")
    partitions = Partitions()
    partitions.run_once()
    now = database_now()
    partitions.neglected = dict.fromkeys(partitions.held, Unowned(now - HOUR, now))

    assert gate.run_once(partitions).next_in == 1.0

    assert states(task) == ["waits"]


# --- wake-ups -------------------------------------------------------------------------------


@pytest.fixture
def never_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count only what wakes: the end of work that was due in the past also writes a line."""
    monkeypatch.setattr(final_log, "note_late", lambda late, attempts: None)


@pytest.mark.usefixtures("never_late")
@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_a_place_that_is_free_wakes_whoever_waits_for_one(
    alpha: Tenant, look: Look, on_commit: Callable[..., Any], end: str
):
    _, claimed = running(alpha, look, 1, overlap_policy="queue_all")
    if end == "cancel":
        finish(claimed, "RETRYING", retry_in=60.0)

    with on_commit() as callbacks:
        if end == "finish":
            finish(claimed)
        else:
            transitions.cancel([(claimed.id, None)], "cancelled")

    # A cancel also writes a line of the log.
    assert len(callbacks) == {"finish": 1, "cancel": 2}[end]


@pytest.mark.usefixtures("never_late")
def test_a_place_that_is_free_wakes_for_what_comes_due_in_this_moment(
    alpha: Tenant, look: Look, on_commit: Callable[..., Any]
):
    _, claimed = running(alpha, look, 1, overlap_policy="queue_all")
    Execution.objects.filter(gated=True).update(due_at=database_now() + timedelta(seconds=1))

    with on_commit() as callbacks:
        finish(claimed)

    assert len(callbacks) == 1


@pytest.mark.usefixtures("never_late")
def test_a_retry_keeps_the_place_and_wakes_nobody(
    alpha: Tenant, look: Look, on_commit: Callable[..., Any]
):
    _, claimed = running(alpha, look, 1, overlap_policy="queue_all")

    with on_commit() as callbacks:
        finish(claimed, "RETRYING", retry_in=60.0)

    assert callbacks == []


@pytest.mark.usefixtures("never_late")
def test_the_end_of_other_work_asks_for_nobody_who_waits(
    alpha: Tenant, on_commit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    limited(alpha)
    (claimed,) = release()
    asked: list[str] = []

    def rows(path: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        asked.append(path)
        return sql.rows(path, parameters)

    monkeypatch.setattr(transitions, "rows", rows)

    with on_commit() as callbacks:
        finish(claimed)

    assert "gate/somebody_waits" not in asked
    assert callbacks == []


# --- what others see ------------------------------------------------------------------------


def test_a_standing_names_policy_limit_and_who_has_the_places(alpha: Tenant, look: Look):
    task, claimed = running(alpha, look, 1, overlap_policy="queue_one")

    found = gate.standing(task)

    assert (found.policy, found.limit, found.active) == ("queue_one", 1, [claimed.id])


def test_what_waits_for_its_turn_is_neither_due_nor_late(alpha: Tenant, look: Look):
    running(alpha, look, 2, overlap_policy="queue_all")
    look()

    found = overview(alpha.id)

    assert (found.due_now, found.late, found.running) == (0, 0, 1)


def test_an_instant_behind_the_gate_is_among_the_next_fires(alpha: Tenant):
    task = make_task(alpha, every_second(schedule={"every": "PT1S", "overlap_policy": "skip"}))
    prepare()

    assert {fire.task_id for fire in next_fires(alpha.id, limit=5)} == {task.id}
    assert next_fires(alpha.id, limit=1)[0].execution_id
