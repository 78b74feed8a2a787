"""Stops of schedulers and of everything: one threshold for what was prepared and what was not.

Time stands still for the database, and a stop is made by moving everything that was written before
into the past.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db.models import F

from executions.materialize import stage as materialize
from executions.models import Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from executions.rescue.lost_workers import Silence
from executions.rescue.stage import Rescuer
from shared.ids import execution_id
from shared.instants import format_instant, parse_instant
from tasks.editing import spec_of
from tasks.models import Task, TaskCursor
from tasks.schedules.jitter import due_at
from tenants.models import Tenant
from tests.factories import every_second, executions_of, make_task, once, prepare, release, reload
from tests.support.simulation import accounted
from tests.support.transaction_time import transaction_now

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
THRESHOLD = 15 * SECOND
STOPS = (5, 20, 48, 120)
STEP = SECOND / 10  # Ten a second, unless the task says otherwise.


#: The moment at which the scheduler comes back: the begin of the transaction.
begin = transaction_now


def stop(seconds: float) -> None:
    """Move everything that was written into the past, by these seconds."""
    ago = timedelta(seconds=seconds)
    for row in Execution.objects.order_by("id"):
        at = row.scheduled_for - ago
        Execution.objects.filter(id=row.id).update(
            id=execution_id(row.task_id, at),
            scheduled_for=at,
            due_at=row.due_at - ago,
            created_at=row.created_at - ago,
            queued_at=row.queued_at and row.queued_at - ago,
            lease_expires_at=row.lease_expires_at and row.lease_expires_at - ago,
        )
    Task.objects.update(created_at=F("created_at") - ago)
    TaskCursor.objects.update(next_run_at=F("next_run_at") - ago)
    for task in Task.objects.filter(type="ONE_TIME"):
        run_at = format_instant(parse_instant(task.schedule["run_at"]) - ago)
        Task.objects.filter(pk=task.pk).update(schedule={**task.schedule, "run_at": run_at})
    PartitionLease.objects.filter(expires_at__isnull=False).update(expires_at=F("expires_at") - ago)
    SchedulerNode.objects.update(
        heartbeat_at=F("heartbeat_at") - ago, lease_expires_at=F("lease_expires_at") - ago
    )


def come_back(partitions: Partitions | None = None) -> Partitions:
    """Let a scheduler take over, and make all passes that it has to make."""
    partitions = partitions or Partitions()
    partitions.run_once()
    for _ in range(200):
        if materialize.run_once(partitions).next_in:
            return partitions
    raise AssertionError("no end")


def stopped(tenant: Tenant, seconds: float, *, prepared: bool, **schedule: Any) -> Task:
    """Return a task that fires each second, after a stop; prepared up to the horizon before."""
    if not prepared:
        prepare()  # A scheduler that saw nothing of the task.
    task = make_task(tenant, every_second(schedule={"every": "PT1S", **schedule}))
    if prepared:
        prepare()
    stop(seconds)
    return task


def outage(task: Task, since: datetime, until: datetime) -> list[tuple[datetime, str, str]]:
    """Return what became of each instant of a stretch: none is there twice or missing."""
    found = [entry for entry in accounted(reload(task)) if since <= entry[0] < until]
    instants = [at for at, _, _ in found]
    assert len(set(instants)) == len(instants)
    assert all(later - at == SECOND for at, later in pairwise(instants))
    assert reload(task).occurrence_count == len(accounted(reload(task)))
    return found


def starts(task: Task, since: datetime) -> list[datetime]:
    """Return when the instants before the scheduler's return start, at the soonest."""
    rows = executions_of(task, "PENDING")
    return sorted(max(row.due_at, since) for row in rows if row.scheduled_for < since)


def no_burst(task: Task, back: datetime, step: timedelta = STEP) -> None:
    """Assert that what is caught up keeps its pace."""
    late = starts(task, back)
    assert all(later - at >= step * 0.99 for at, later in pairwise(late[1:]))
    assert len([at for at in late if at < back + step * 0.99]) <= 1


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("seconds", STOPS)
def test_skip_runs_none_that_waited_longer_than_the_threshold_for_a_scheduler(
    alpha: Tenant, seconds: int, prepared: bool
):
    task = stopped(alpha, seconds, prepared=prepared, misfire_policy="skip")
    back = begin()

    come_back()

    missed = outage(task, back - timedelta(days=1), back - THRESHOLD)
    assert {entry[1:] for entry in missed} == (
        {("SKIPPED", "misfire_skipped")} if missed else set()
    )
    assert len(missed) >= seconds - 17
    late = outage(task, back - THRESHOLD, back)
    assert {entry[1:] for entry in late} == {("PENDING", "")}
    no_burst(task, back)


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("seconds", STOPS)
@pytest.mark.parametrize("which", ["latest", "earliest"])
def test_coalesce_runs_once_for_all_that_were_missed(
    alpha: Tenant, seconds: int, prepared: bool, which: str
):
    task = stopped(alpha, seconds, prepared=prepared, misfire_coalesce=which)
    back = begin()

    come_back()

    missed = outage(task, back - timedelta(days=1), back - THRESHOLD)
    ran = [at for at, status, _ in missed if status == "PENDING"]
    assert ran == [missed[-1 if which == "latest" else 0][0] for _ in missed[:1]]
    assert {reason for _, _, reason in missed} <= {"misfire_coalesced"}
    late = outage(task, back - THRESHOLD, back)
    assert {entry[1:] for entry in late} == {("PENDING", "")}
    no_burst(task, back)


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("seconds", STOPS)
def test_replay_keeps_its_limit_and_its_pace(alpha: Tenant, seconds: int, prepared: bool):
    pace = {"misfire_replay_limit": 3, "misfire_replay_per_second": 2}
    task = stopped(alpha, seconds, prepared=prepared, misfire_policy="replay", **pace)
    back = begin()

    come_back()

    missed = [entry[1:] for entry in outage(task, back - timedelta(days=1), back - THRESHOLD)]
    assert set(missed[:-3]) <= {("SKIPPED", "misfire_skipped")}
    assert set(missed[-3:]) <= {("PENDING", "misfire_replayed")}
    no_burst(task, back, SECOND / 2)


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("seconds", STOPS)
@pytest.mark.parametrize(
    ("policy", "grace"), [("skip", 0), ("coalesce", 2), ("replay", 2), ("replay", 30)]
)
def test_nothing_runs_that_is_later_than_its_grace(
    alpha: Tenant, seconds: int, prepared: bool, policy: str, grace: float
):
    schedule = {"misfire_policy": policy, "misfire_grace_seconds": grace}
    task = stopped(alpha, seconds, prepared=prepared, **schedule)
    back = begin()

    come_back()

    beyond = outage(task, back - timedelta(days=1), back - grace * SECOND)
    assert {entry[1:] for entry in beyond} <= {("SKIPPED", "misfire_grace_exceeded")}
    assert beyond or seconds < grace
    no_burst(task, back)


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("seconds", STOPS)
@pytest.mark.parametrize(("grace", "lost_after"), [(None, 1000), (2, 2), (60, 60)])
def test_a_one_time_task_runs_late_unless_its_grace_is_exceeded(
    alpha: Tenant, seconds: int, prepared: bool, grace: float | None, lost_after: int
):
    if not prepared:
        prepare()
    at = begin() + 3 * SECOND
    schedule = {"run_at": format_instant(at), "misfire_grace_seconds": grace}
    task = make_task(alpha, once(schedule=schedule))
    if prepared:
        prepare()
    stop(seconds + 3.5)

    come_back()

    [row] = executions_of(task)
    lost = seconds > lost_after
    assert (row.status, row.reason) == (
        ("SKIPPED", "misfire_grace_exceeded") if lost else ("PENDING", "")
    )
    assert reload(task).status == ("COMPLETED" if lost else "SCHEDULED")


@pytest.mark.parametrize("policy", ["skip", "coalesce", "replay"])
def test_what_was_handed_out_before_a_full_stop_is_judged_when_it_comes_back(
    alpha: Tenant, policy: str
):
    task = make_task(alpha, every_second(schedule={"every": "PT1S", "misfire_policy": policy}))
    prepare()
    handed_out = release(window_seconds=3.0, margin_seconds=10.0)
    assert handed_out
    stop(48)
    back = begin()
    partitions = come_back()
    before = accounted(reload(task))

    assert Rescuer(partitions, Silence()).run_once().done == len(handed_out)
    # Nothing of the partition is released before the policy has decided.
    assert reload(task).partition not in partitions.ready
    come_back(partitions)

    assert len(partitions.ready) == 256
    found = {
        "skip": {("SKIPPED", "misfire_skipped")},
        "coalesce": {("SKIPPED", "misfire_coalesced"), ("PENDING", "misfire_coalesced")},
        "replay": {("PENDING", "misfire_replayed")},
    }
    missed = outage(task, back - timedelta(days=1), back - THRESHOLD)
    assert {entry[1:] for entry in missed} == found[policy]
    assert len(missed) >= 32
    assert (
        len([entry for entry in missed if entry[1] == "PENDING"])
        == {
            "skip": 0,
            "coalesce": 1,
            "replay": len(missed),
        }[policy]
    )
    assert [entry[0] for entry in accounted(reload(task))] == [entry[0] for entry in before]
    no_burst(task, back)


def test_want_of_workers_is_no_misfire_however_long(alpha: Tenant):
    task = stopped(alpha, 48, prepared=True, misfire_policy="skip", misfire_grace_seconds=2)
    # Its scheduler was there all the time, until a second and a half ago.
    PartitionLease.objects.update(expires_at=begin() - 1.5 * SECOND)
    before = [row.id for row in executions_of(task)]

    partitions = come_back()

    assert partitions.unowned[task.partition].since == begin() - 1.5 * SECOND
    assert [row.id for row in executions_of(task, "PENDING")][: len(before)] == before


def test_an_instant_whose_jitter_ends_after_the_stop_is_not_missed(alpha: Tenant):
    prepare()
    schedule = {"every": "PT10M", "jitter_seconds": 66, "misfire_policy": "skip"}
    tasks = [make_task(alpha, every_second(name=str(n), schedule=schedule)) for n in range(8)]
    stop(600 + 48)
    back = begin()

    come_back()

    for task in map(reload, tasks):
        [row] = [row for row in executions_of(task) if row.scheduled_for > back - 60 * SECOND]
        due = due_at(spec_of(task), row.scheduled_for, str(task.id), 66)
        missed = due < back - THRESHOLD
        assert row.reason == ("misfire_skipped" if missed else "")
        assert missed or row.due_at == due


def test_several_tasks_are_judged_in_batches(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("executions.materialize.unowned_work._BATCH", 2)
    schedule = {"every": "PT1S", "misfire_policy": "skip"}
    tasks = [make_task(alpha, every_second(name=str(n), schedule=schedule)) for n in range(5)]
    prepare()
    stop(48)
    back = begin()

    come_back()

    for task in tasks:
        missed = outage(task, back - timedelta(days=1), back - THRESHOLD)
        assert {entry[1:] for entry in missed} == {("SKIPPED", "misfire_skipped")}


def test_rows_that_ran_before_a_stop_are_counted_once(alpha: Tenant):
    task = make_task(alpha, every_second(schedule={"every": "PT1S", "max_occurrences": 40}))
    prepare()
    latest = executions_of(task, "PENDING")[-1]
    # One in the middle of the rest was started, and is no part of it any more.
    Execution.objects.filter(pk=latest.pk).update(
        status="SUCCEEDED", attempt=1, finished_at=begin()
    )
    stop(120)

    come_back()

    assert reload(task).occurrence_count == len(accounted(reload(task))) == 40


@pytest.mark.logs("instants.unprepared")
def test_a_stretch_that_a_lost_scheduler_did_not_judge_is_judged_by_the_next(alpha: Tenant):
    task = stopped(alpha, 48, prepared=True, misfire_policy="skip")
    back = begin()
    lost = Partitions()
    lost.run_once()
    lost.release_all()

    come_back()

    missed = outage(task, back - timedelta(days=1), back - THRESHOLD)
    assert {entry[1:] for entry in missed} == {("SKIPPED", "misfire_skipped")}
