from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F, Model

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.materialize.planning import plan_tasks
from executions.models import Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.ids import execution_id
from shared.instants import format_instant
from tasks.models import Task, TaskCursor
from tenants.models import Tenant
from tests.factories import daily, every_second, executions_of, make_task, once, reload
from tests.support.cursors import change_task
from tests.support.events import names_of

pytestmark = pytest.mark.django_db

#: Each says alone that the partition is no longer this scheduler's.
TAKEN_OVER = pytest.mark.parametrize(
    "changed", [{"owner": uuid4()}, {"epoch": F("epoch") + 1}], ids=["another owner", "new epoch"]
)

ENDED = pytest.mark.parametrize(
    ("model", "field"), [(PartitionLease, "expires_at"), (SchedulerNode, "lease_expires_at")]
)


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def drain(partitions: Partitions) -> None:
    """Materialize until nothing is due any more."""
    for _ in range(200):
        if not partitions.held:
            partitions.run_once()  # a slow machine's lease ran out
        counts = materialize.run_once(partitions)
        # What ran out within the pass found nothing.
        if counts.next_in and partitions.held:
            return
    pytest.fail("materialize does not come to an end")


def recurring(seconds: int = 1, **schedule: Any) -> dict[str, Any]:
    return every_second(schedule={"every": f"PT{seconds}S", **schedule})


def outage(task: Task, length: timedelta) -> datetime:
    """Let nobody have looked at the task for so long; return its first missed instant."""
    since = database_now() - length
    change_task(task.id, created_at=since, next_run_at=since)
    spec = task.schedule
    if "every" in spec and not spec.get("start_at"):
        # `every` counts from the creation.
        moved = since.replace(microsecond=since.microsecond // 1000 * 1000)
        change_task(task.id, created_at=moved, next_run_at=moved)
        return moved
    return since


def by_reason(task: Task) -> dict[tuple[str, str], int]:
    """Return (status, reason) -> instants, spans counted by what they stand for."""
    found: dict[tuple[str, str], int] = {}
    for row in executions_of(task):
        key = (row.status, row.reason)
        found[key] = found.get(key, 0) + (row.span_count or 1)
    return found


def test_occurrences_are_written_up_to_the_horizon(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second())
    before = database_now()

    drain(partitions)

    found = executions_of(task)
    horizon = timedelta(seconds=conf().horizon_seconds)
    assert len(found) in (15, 16)
    assert found[-1].scheduled_for >= before + horizon - timedelta(seconds=1)
    assert found[-1].scheduled_for <= database_now() + horizon
    assert {row.status for row in found} == {"PENDING"}
    assert all(row.due_at == row.scheduled_for for row in found)
    assert reload(task).next_run_at == found[-1].scheduled_for + timedelta(seconds=1)
    assert reload(task).occurrence_count == len(found)


def test_each_occurrence_has_the_derived_id_and_the_tasks_traits(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, every_second(priority=1))

    drain(partitions)

    row = executions_of(task)[0]
    assert row.id == execution_id(task.id, row.scheduled_for)
    assert (row.partition, row.priority, row.pool) == (task.partition, 1, "default")
    assert (row.revision, row.trigger, row.attempt) == (1, "schedule", 0)
    assert names_of(row.id) == ["execution.materialized"]


def test_a_task_beyond_the_horizon_waits(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once(database_now() + timedelta(seconds=60)))

    counts = materialize.run_once(partitions)

    assert counts.done == 0
    assert counts.next_in == conf().scheduler_sleep_seconds
    assert not executions_of(task)


def test_a_repeat_after_a_crash_changes_nothing(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second())
    first = task.next_run_at
    drain(partitions)
    written = {row.id for row in executions_of(task)}

    # The rows are there, and the cursor is where it was before.
    change_task(task.id, next_run_at=first, occurrence_count=0)
    drain(partitions)

    again = executions_of(task)
    assert written <= {row.id for row in again}
    assert len({row.scheduled_for for row in again}) == len(again)
    assert reload(task).occurrence_count == len(again)


def test_a_scheduler_without_partitions_writes_nothing(alpha: Tenant):
    task = make_task(alpha, every_second())

    assert materialize.run_once(Partitions()).done == 0
    assert not executions_of(task)


@TAKEN_OVER
def test_a_stale_epoch_writes_nothing(
    alpha: Tenant, partitions: Partitions, changed: dict[str, Any]
):
    task = make_task(alpha, every_second())
    PartitionLease.objects.update(**changed)

    assert materialize.run_once(partitions).done == 0

    assert not executions_of(task)
    assert reload(task).next_run_at == task.next_run_at


@TAKEN_OVER
@pytest.mark.parametrize("one_time", [False, True], ids=["recurring", "one-time"])
def test_a_takeover_in_the_middle_refuses_rows_and_cursor_alike(
    alpha: Tenant,
    partitions: Partitions,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    one_time: bool,
):
    task = make_task(alpha, once(database_now()) if one_time else every_second())
    # As those are that something may decide about.
    TaskCursor.objects.update(execution_id=None)

    def taken_over(*arguments: Any) -> Any:
        PartitionLease.objects.update(**changed)
        return plan_tasks(*arguments)

    monkeypatch.setattr(materialize, "plan_tasks", taken_over)
    materialize.run_once(partitions)

    assert not executions_of(task)
    assert reload(task).next_run_at == task.next_run_at


def test_a_lease_that_ends_in_the_middle_loses_no_instant(
    alpha: Tenant, partitions: Partitions, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, every_second())

    def lapsed(*arguments: Any) -> Any:
        # The database's clock was set, say. Nobody else has taken over.
        SchedulerNode.objects.update(lease_expires_at=database_now() - timedelta(seconds=30))
        return plan_tasks(*arguments)

    monkeypatch.setattr(materialize, "plan_tasks", lapsed)
    materialize.run_once(partitions)

    # Both or neither: a cursor beyond rows that were refused would lose them.
    written = executions_of(task)
    cursor = reload(task).next_run_at
    assert cursor is not None
    first = task.next_run_at
    assert first is not None
    assert len(written) == (cursor - first).total_seconds()


@ENDED
def test_a_lease_that_has_ended_plans_nothing(
    alpha: Tenant, partitions: Partitions, model: type[Model], field: str
):
    task = make_task(alpha, every_second())
    model._default_manager.update(**{field: database_now() - timedelta(seconds=30)})

    assert materialize.run_once(partitions).done == 0

    assert reload(task).next_run_at == task.next_run_at


@pytest.mark.parametrize("body", [every_second, once])
def test_an_edit_that_moved_the_cursor_meanwhile_wins(
    body: Any, alpha: Tenant, partitions: Partitions, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, body())
    # A plain one is prepared by one statement, which reads and takes its cursor at once.
    TaskCursor.objects.update(execution_id=None)
    elsewhere = database_now() + timedelta(days=1)
    planned: list[Any] = []

    def edited(*arguments: Any) -> Any:
        change_task(task.id, next_run_at=elsewhere)
        planned.extend(plan_tasks(*arguments))
        return planned

    monkeypatch.setattr(materialize, "plan_tasks", edited)
    materialize.run_once(partitions)

    assert planned
    assert reload(task).next_run_at == elsewhere


@pytest.mark.parametrize(
    ("policy", "running", "skipped"),
    [
        ("coalesce", {("PENDING", "misfire_coalesced"): 1}, "misfire_coalesced"),
        ("skip", {}, "misfire_skipped"),
        ("replay", {("PENDING", "misfire_replayed"): 45}, None),
    ],
)
def test_missed_instants_follow_the_misfire_policy(
    alpha: Tenant,
    partitions: Partitions,
    policy: str,
    running: dict[tuple[str, str], int],
    skipped: str | None,
):
    task = make_task(alpha, recurring(1, misfire_policy=policy))
    outage(task, timedelta(seconds=60))

    drain(partitions)

    found = by_reason(task)
    on_time = found.pop(("PENDING", ""))
    dropped = found.pop(("SKIPPED", skipped), 0) if skipped else 0
    # 45 s are missed (older than 15 s), the rest runs late or lies ahead.
    missed = sum(found.values()) + dropped
    assert set(found) == set(running)
    assert missed in (45, 46)
    assert on_time in (30, 31)
    if policy != "replay":
        assert found == running


@pytest.mark.parametrize(
    ("schedule", "most"),
    # A cron line's instants are counted by the ten thousand, an interval's all at once.
    [({"every": "PT1S"}, 1), ({"cron_expression": "* * * * * *"}, 40)],
)
def test_a_long_outage_leaves_spans_without_a_gap_and_goes_on(
    alpha: Tenant, partitions: Partitions, schedule: dict[str, Any], most: int
):
    task = make_task(alpha, every_second(schedule=schedule))
    since = outage(task, timedelta(days=7))

    drain(partitions)

    rows = executions_of(task)
    spans = [row for row in rows if row.span_count]
    assert 1 <= len(spans) <= most
    assert {span.status for span in spans} == {"SKIPPED"}
    assert spans[0].scheduled_for - since < timedelta(seconds=1)
    # Every instant is accounted for once, in a span or by itself.
    stretches = sorted((row.scheduled_for, row.span_last or row.scheduled_for) for row in rows)
    gaps = {b[0] - a[1] for a, b in itertools.pairwise(stretches)}
    assert gaps == {timedelta(seconds=1)}
    assert by_reason(task)["PENDING", "misfire_coalesced"] == 1
    assert reload(task).next_run_at == stretches[-1][1] + timedelta(seconds=1)
    assert reload(task).occurrence_count == sum(row.span_count or 1 for row in rows)


def test_a_backlog_is_written_in_bounded_batches(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, recurring(1, misfire_policy="replay"))
    outage(task, timedelta(seconds=500))

    first = materialize.run_once(partitions)

    assert first.done == 1
    assert first.next_in == 0.0
    assert len(executions_of(task)) == conf().occurrences_per_task
    drain(partitions)
    assert len(executions_of(task)) in range(513, 518)


def test_a_replay_is_due_at_its_rate_from_one_pass_and_one_scheduler_to_the_next(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, recurring(1, misfire_policy="replay", misfire_replay_per_second=2))
    outage(task, timedelta(seconds=500))
    before = database_now()

    materialize.run_once(partitions)
    first_pass = reload(task).replayed_until
    assert first_pass is not None
    partitions.release_all()
    successor = Partitions()
    successor.run_once()
    drain(successor)

    replayed = [row for row in executions_of(task) if row.reason == "misfire_replayed"]
    due = [row.due_at for row in replayed]
    assert len(due) > conf().occurrences_per_task
    assert due[0] >= before
    assert {b - a for a, b in itertools.pairwise(due)} == {timedelta(seconds=0.5)}
    assert reload(task).replayed_until == due[-1] > first_pass
    on_time = [row for row in executions_of(task) if not row.reason]
    assert all(row.due_at == row.scheduled_for for row in on_time)


def test_the_end_of_a_replay_is_forgotten_when_it_is_over(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second())
    change_task(task.id, replayed_until=database_now() - timedelta(seconds=9))

    drain(partitions)

    assert reload(task).replayed_until is None


def test_a_replay_keeps_to_the_last_instants(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, recurring(1, misfire_policy="replay", misfire_replay_limit=10))
    outage(task, timedelta(days=21))

    drain(partitions)

    found = by_reason(task)
    assert found["PENDING", "misfire_replayed"] == 10
    assert sum(found.values()) == reload(task).occurrence_count


@pytest.mark.parametrize("schedule", [{"every": "PT1S"}, {"cron_expression": "* * * * * *"}])
def test_a_long_outage_is_coalesced_onto_its_earliest_instant_where_asked(
    alpha: Tenant, partitions: Partitions, schedule: dict[str, Any]
):
    body = every_second(schedule={**schedule, "misfire_coalesce": "earliest"})
    task = make_task(alpha, body)
    since = outage(task, timedelta(days=2))

    drain(partitions)

    [ran] = [
        r for r in executions_of(task) if r.reason == "misfire_coalesced" and not r.finished_at
    ]
    assert ran == executions_of(task)[0]
    assert ran.scheduled_for - since < timedelta(seconds=1)
    assert reload(task).replayed_until is None


def test_grace_bounds_what_is_replayed(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, recurring(1, misfire_policy="replay", misfire_grace_seconds=30))
    outage(task, timedelta(seconds=60))

    drain(partitions)

    found = by_reason(task)
    assert found["SKIPPED", "misfire_grace_exceeded"] in (30, 31)
    assert found["PENDING", "misfire_replayed"] in (14, 15, 16)


def test_the_last_of_the_occurrences_ends_the_cursor_and_not_yet_the_task(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, recurring(1, max_occurrences=3))

    drain(partitions)

    assert len(executions_of(task)) == 3
    assert reload(task).next_run_at is None
    # Its executions are still to come; the recorder completes it.
    assert reload(task).status == "SCHEDULED"


def test_a_task_whose_last_occurrences_were_skipped_is_completed(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, recurring(1, max_occurrences=3, misfire_policy="skip"))
    outage(task, timedelta(seconds=60))

    drain(partitions)

    assert by_reason(task) == {("SKIPPED", "misfire_skipped"): 3}
    assert reload(task).status == "COMPLETED"


def test_jitter_moves_the_due_time_and_not_the_nominal_one(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, recurring(5, jitter_seconds=4))

    drain(partitions)

    delays = {row.due_at - row.scheduled_for for row in executions_of(task)}
    assert len(delays) == 1
    assert timedelta(0) <= delays.pop() < timedelta(seconds=4)


def test_an_unreadable_schedule_pauses_only_its_task(alpha: Tenant, partitions: Partitions):
    broken = [make_task(alpha, every_second(name=str(number))) for number in range(4)]
    for task, schedule in zip(
        broken,
        [{"cron_expression": "nonsense"}, {"every": "PT0S"}, "text", {"cron_expression": 5}],
        strict=True,
    ):
        Task.objects.filter(id=task.id).update(schedule=schedule)
    good = make_task(alpha, every_second())

    drain(partitions)

    assert executions_of(good)
    for task in broken:
        assert reload(task).status == "PAUSED"
        assert "cannot be read" in reload(task).pause_note
        assert not executions_of(task)


def test_a_value_that_the_ledger_refuses_pauses_only_its_task(
    alpha: Tenant, partitions: Partitions
):
    broken, good = make_task(alpha, every_second()), make_task(alpha, every_second())
    Task.objects.filter(pk=broken.pk).update(max_attempts=0)

    drain(partitions)

    assert executions_of(good)
    assert not executions_of(broken)
    assert reload(broken).status == "PAUSED"


def test_a_fault_that_is_no_tasks_own_pauses_none(
    alpha: Tenant, partitions: Partitions, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, once(database_now() - timedelta(hours=20)))
    change_task(
        task.id,
        next_run_at=F("next_run_at") - timedelta(days=60),
        schedule={
            "run_at": format_instant(database_now() - timedelta(days=60)),
            "misfire_grace_seconds": 60,
        },
    )
    TaskCursor.objects.update(execution_id=None)
    monkeypatch.setattr(ledger, "missing_days", lambda moments: [])

    with pytest.raises(Exception, match="no partition"):
        materialize.run_once(partitions)


def test_old_instants_get_their_days_and_lower_the_floor(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second(schedule={"cron_expression": "0 12 * * *"}))
    Task.objects.filter(id=task.id).update(
        schedule={"cron_expression": "0 12 * * *", "misfire_policy": "replay"}
    )
    outage(task, timedelta(days=40))

    drain(partitions)

    rows = executions_of(task)
    assert len(rows) in (39, 40, 41)


@pytest.mark.parametrize(
    ("on_resume", "expected"),
    [
        ("skip", {("SKIPPED", "paused"): 60}),
        (
            "run_once",
            {("SKIPPED", "paused_coalesced"): 59, ("PENDING", "paused_coalesced"): 1},
        ),
        ("replay", {("PENDING", "paused_replayed"): 60}),
    ],
)
def test_what_fell_into_a_pause_follows_the_pauses_own_policy(
    alpha: Tenant,
    partitions: Partitions,
    on_resume: str,
    expected: dict[tuple[str, str], int],
):
    task = make_task(alpha, recurring(1))
    since = outage(task, timedelta(seconds=60))
    Task.objects.filter(id=task.id).update(
        resumed_at=since + timedelta(seconds=59, milliseconds=500), on_resume=on_resume
    )

    drain(partitions)

    found = by_reason(task)
    assert found.pop(("PENDING", "")) in (15, 16)
    assert found == expected


def test_a_long_pause_becomes_one_span(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, recurring(1))
    outage(task, timedelta(seconds=600))
    Task.objects.filter(id=task.id).update(resumed_at=database_now(), on_resume="skip")

    drain(partitions)

    spans = [row for row in executions_of(task) if row.span_count]
    assert len(spans) == 1
    assert spans[0].reason == "paused"


def test_a_one_time_task_gets_its_one_row(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once())

    drain(partitions)

    assert [row.status for row in executions_of(task)] == ["PENDING"]
    assert reload(task).next_run_at is None
    assert reload(task).status == "SCHEDULED"


def test_a_one_time_task_is_run_however_late(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once(database_now() - timedelta(hours=5)))

    drain(partitions)

    assert [row.status for row in executions_of(task)] == ["PENDING"]


def test_a_one_time_task_beyond_its_grace_is_skipped_and_over(
    alpha: Tenant, partitions: Partitions
):
    at = database_now() - timedelta(hours=5)
    task = make_task(alpha, once(at))
    Task.objects.filter(id=task.id).update(
        schedule={"run_at": format_instant(at), "misfire_grace_seconds": 60}
    )
    TaskCursor.objects.update(execution_id=None)

    drain(partitions)

    assert by_reason(task) == {("SKIPPED", "misfire_grace_exceeded"): 1}
    assert reload(task).status == "COMPLETED"


def test_paused_tasks_are_left_alone(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, every_second())
    Task.objects.filter(id=task.id).update(status="PAUSED", paused_at=database_now())

    drain(partitions)

    assert not Execution.objects.exists()


def test_many_tasks_are_written_in_one_batch(alpha: Tenant, partitions: Partitions):
    tasks = [make_task(alpha, every_second(name=str(number))) for number in range(20)]
    make_task(alpha, daily())

    partitions.run_once()
    before = database_now()
    assert materialize.run_once(partitions).done == 20
    after = database_now()

    horizon = timedelta(seconds=conf().horizon_seconds)
    for task in tasks:
        instants = [row.scheduled_for for row in executions_of(task)]
        assert instants[0] == task.next_run_at
        assert all(later - earlier == timedelta(seconds=1) for earlier, later in pairwise(instants))
        assert before + horizon - timedelta(seconds=1) < instants[-1] <= after + horizon
