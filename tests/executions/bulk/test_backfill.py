from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.bulk import backfill
from executions.bulk.backfill import Plan, Wanted, plan_backfill
from executions.bulk.backfill_steps import execution_of
from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem, Execution
from executions.triggering.triggers import run_task
from shared.exceptions import Conflict, InvalidInput, NotFound
from shared.ids import moment_of
from shared.instants import format_instant, parse_instant
from tasks.models import Task
from tasks.preview import preview
from tasks.schedules.base import Occurrence
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.bulk.backfills import HOUR, make_backfill, minutely, past
from tests.factories import ACTOR, daily, finish, make_task, once, release, start
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


def plan(task: Task, wanted: Wanted = HOUR) -> Plan:
    return plan_backfill(task.tenant_id, task.id, wanted)


def refusal(task: Task, wanted: Wanted) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as refused:
        plan(task, wanted)
    (error,) = refused.value.errors
    return error.pointer, error.code


def test_both_ends_of_the_range_are_included(alpha: Tenant):
    task = make_task(alpha, minutely())

    found = plan(task)

    assert (found.count, found.instants[0].at, found.instants[-1].at) == (61, HOUR.start, HOUR.end)
    moment = Wanted(HOUR.start, HOUR.start)
    assert [one.at for one in plan(task, moment).instants] == [HOUR.start]
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-28T20:00:00Z", "2026-03-29T20:00:00Z"),
        ("2025-10-25T20:00:00Z", "2025-10-26T20:00:00Z"),
    ],
    ids=["the day is an hour short", "the day is an hour long"],
)
@pytest.mark.parametrize("expression", ["30 2 * * *", "*/20 1-3 * * *", "15 * * * *"])
@pytest.mark.parametrize("overlap", ["first", "second", "both"])
def test_a_day_on_which_clocks_change_has_the_instants_of_the_preview(
    alpha: Tenant, start: str, end: str, expression: str, overlap: str
):
    schedule = {
        "cron_expression": expression,
        "timezone": "Europe/Berlin",
        "dst_overlap": overlap,
    }
    task = make_task(alpha, daily(schedule=schedule))

    found = plan(task, Wanted(parse_instant(start), parse_instant(end)))

    body = {"type": "RECURRING", "schedule": schedule, "from": start, "count": 1000}
    shown = preview(body, now=database_now())["occurrences"]
    expected = [one for one in shown if one["utc"] <= end.replace("Z", ".000Z")]
    assert [format_instant(one.at) for one in found.instants] == [one["utc"] for one in expected]
    assert [list(one.notes) for one in found.instants] == [one["notes"] for one in expected]


def test_the_number_of_occurrences_that_a_task_may_have_does_not_bound_its_past(alpha: Tenant):
    task = make_task(alpha, minutely(max_occurrences=3))

    assert plan(task).count == 61


def test_a_schedule_that_began_later_has_no_instants_before(alpha: Tenant):
    begun = HOUR.start + timedelta(minutes=50)
    task = make_task(alpha, minutely(start_at=format_instant(begun)))

    assert plan(task).instants[0].at == begun


def test_a_fixed_rate_counts_from_its_beginning(alpha: Tenant):
    started = HOUR.start + timedelta(minutes=7)
    rate = make_task(alpha, daily(schedule={"every": "PT20M", "start_at": format_instant(started)}))
    young = make_task(alpha, daily(schedule={"every": "PT20M"}))

    assert [one.at.minute for one in plan(rate).instants] == [7, 27, 47]
    assert refusal(young, HOUR) == ("#/start", "nothing_matches")


def test_the_one_instant_of_a_one_time_task_can_run_again(alpha: Tenant):
    at = past(2)
    task = make_task(alpha, once(at))

    assert plan(task, Wanted(past(3), past(1))).count == 1


@recounts("backfill.plan")
def test_what_a_calendar_excludes_is_left_out(alpha: Tenant, monkeypatch: Any):
    task = make_task(alpha, minutely())
    walked = [
        Occurrence(HOUR.start + timedelta(minutes=n), excluded="Holidays" if n == 1 else "")
        for n in range(3)
    ]
    monkeypatch.setattr(backfill, "_walk", lambda *_: iter(walked))

    found = plan(task)

    assert [one.at.minute for one in found.instants] == [0, 2]
    assert found.excluded == 1


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(HOUR.end, HOUR.start), ("#/end", "end_before_start")),
        (Wanted(HOUR.start, datetime(2199, 1, 1, tzinfo=UTC)), ("#/end", "in_the_future")),
        (Wanted(HOUR.start, HOUR.end, 0), ("#/max_parallel", "out_of_range")),
        (Wanted(HOUR.start, HOUR.end, 1001), ("#/max_parallel", "out_of_range")),
        (Wanted(HOUR.start, HOUR.end, None, "skip"), ("#/overlap_policy", "invalid_choice")),
        (Wanted(HOUR.start, HOUR.end, 2, "queue_all"), ("#/max_parallel", "conflict")),
        (
            Wanted(HOUR.start + timedelta(seconds=1), HOUR.start + timedelta(seconds=59)),
            ("#/start", "nothing_matches"),
        ),
        (Wanted(datetime(2020, 1, 1, tzinfo=UTC), HOUR.end), ("#/end", "too_many")),
    ],
)
def test_what_cannot_be_run_again_is_refused_with_its_field(
    alpha: Tenant, wanted: Wanted, expected: tuple[str, str]
):
    task = make_task(alpha, minutely())

    assert refusal(task, wanted) == expected


def test_the_first_years_of_the_calendar_are_no_error(alpha: Tenant):
    task = make_task(alpha, daily(schedule={"cron_expression": "0 0 1 1 *"}))

    found = plan(task, Wanted(datetime.min.replace(tzinfo=UTC), HOUR.end))

    assert found.instants[0].at.year == 1970


def test_too_many_names_how_far_a_backfill_would_come(alpha: Tenant, monkeypatch: Any):
    task = make_task(alpha, minutely())
    monkeypatch.setattr(backfill, "MAX_INSTANTS", 60)

    with pytest.raises(InvalidInput, match=r"more than 60 instants by 2026-03-02T11:00:00.000Z"):
        plan(task)
    assert plan(task, Wanted(HOUR.start, HOUR.end - timedelta(minutes=1))).count == 60


def test_a_range_that_a_calendar_excludes_almost_whole_is_not_walked_for_ever(
    alpha: Tenant, monkeypatch: Any
):
    task = make_task(alpha, minutely())
    monkeypatch.setattr(backfill, "_MAX_WALKED", 5)
    excluded = (Occurrence(HOUR.start, excluded="Holidays") for _ in range(100))
    monkeypatch.setattr(backfill, "_walk", lambda *_: excluded)

    assert refusal(task, HOUR) == ("#/end", "too_many")


@pytest.mark.parametrize(
    ("schedule", "wanted", "expected"),
    [
        ({}, {}, (10, "allow")),
        ({}, {"max_parallel": 1000}, (1000, "allow")),
        ({}, {"overlap_policy": "queue_all"}, (1, "queue_all")),
        ({"max_concurrent": 3}, {}, (3, "allow")),
        ({"max_concurrent": 30}, {}, (10, "allow")),
        ({"overlap_policy": "skip"}, {}, (1, "queue_all")),
        ({"overlap_policy": "skip"}, {"max_parallel": 4}, (4, "allow")),
        ({"overlap_policy": "skip"}, {"overlap_policy": "allow"}, (10, "allow")),
    ],
)
def test_how_many_run_at_a_time_is_told_or_follows_from_the_task(
    alpha: Tenant, schedule: dict[str, Any], wanted: dict[str, Any], expected: tuple[int, str]
):
    task = make_task(alpha, minutely(**schedule))

    found = plan(task, Wanted(HOUR.start, HOUR.end, **wanted))

    assert (found.max_parallel, found.overlap_policy) == expected


@recounts("backfill.estimated_seconds")
def test_the_latest_runs_say_how_long_it_takes(alpha: Tenant):
    task = make_task(alpha, minutely())
    assert plan(task).estimated_seconds is None
    run_task(alpha.id, task.id, None, actor=ACTOR)
    (row,) = release()
    start([row])
    finish(row, finished_at=database_now() + timedelta(seconds=20))

    # 61 instants, ten at a time, are seven rounds.
    assert plan(task).estimated_seconds == pytest.approx(140, abs=7)


def test_a_cancelled_task_and_one_under_a_standing_pause_are_refused(alpha: Tenant):
    cancelled, held = make_task(alpha, minutely()), make_task(alpha, minutely())
    changing.cancel_task(alpha.id, cancelled.id, actor=ACTOR)
    Task.objects.filter(pk=held.pk).update(pause_id=uuid4())

    for task, code in ((cancelled, "task_cancelled"), (held, "task_paused")):
        with pytest.raises(Conflict) as refused:
            plan(task)
        assert refused.value.code == code


def test_another_tenants_and_a_deleted_task_are_not_there(alpha: Tenant, beta: Tenant):
    task = make_task(alpha, minutely())

    with pytest.raises(NotFound):
        plan_backfill(beta.id, task.id, HOUR)
    changing.delete_task(alpha.id, task.id, actor=ACTOR)
    with pytest.raises(NotFound):
        make_backfill(task)


def test_the_instants_are_fixed_with_the_ids_of_their_executions(alpha: Tenant):
    task = make_task(alpha, minutely())

    job = make_backfill(task)

    items = list(BulkJobItem.objects.filter(job=job).order_by("position"))
    assert [item.at for item in items] == [HOUR.start + timedelta(minutes=n) for n in range(61)]
    assert [item.position for item in items] == list(range(61))
    assert items[5].item_id == execution_of(job, task.id, items[5].at)  # type: ignore[arg-type]  # it is set
    # In today's day of the ledger, whatever instant it stands for.
    assert abs(moment_of(items[5].item_id) - job.created_at) < timedelta(milliseconds=1)
    assert not Execution.objects.exists()


def test_the_job_says_what_it_does_and_is_audited(alpha: Tenant):
    task = make_task(alpha, minutely())

    job = make_backfill(task)

    assert (job.kind, job.action, job.total) == ("occurrences", "backfill", 61)
    assert job.name == "Backfill of Daily report"
    assert job.filters == {
        "task": str(task.id),
        "start": "2026-03-02T10:00:00.000Z",
        "end": "2026-03-02T11:00:00.000Z",
    }
    assert job.options == {"max_parallel": 10, "overlap_policy": "allow"}
    assert audited(job.id, "bulk_job.created")["after"]["total"] == 61
    assert make_backfill(task, name="Incident 7").name == "Incident 7"


def test_another_number_of_instants_than_shown_is_a_conflict(alpha: Tenant):
    task = make_task(alpha, minutely())

    with pytest.raises(Conflict, match="61 instants now, not 60") as refused:
        make_backfill(task, expected_count=60)

    assert refused.value.code == "scope_changed"
    assert make_backfill(task, expected_count=61).total == 61


def test_a_hundred_thousand_instants_are_fixed(alpha: Tenant):
    task = make_task(alpha, daily(schedule={"cron_expression": "* * * * * *"}))
    first = HOUR.start
    wanted = Wanted(first, first + timedelta(seconds=99_999))

    job = make_backfill(task, wanted)

    assert (job.total, job.items.count()) == (100_000, 100_000)
    assert job.items.values("item_id").distinct().count() == 100_000
    assert refusal(task, Wanted(first, wanted.end + timedelta(seconds=1))) == ("#/end", "too_many")


def test_a_task_is_left_as_it_was(alpha: Tenant):
    task = make_task(alpha, minutely())
    before = Task.objects.filter(pk=task.pk).values().get()

    make_backfill(task)

    assert Task.objects.filter(pk=task.pk).values().get() == before
