from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executions.bulk.backfill_steps import KIND, execution_of
from executions.changes import changing
from executions.choices import FINAL, Status, Trigger
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from insight.explain.answer import CHECKS, STATES, present_explanation
from insight.explain.explanation import explain_execution, explain_task
from insight.explain.reasons import REASONS
from operations.history_samples import Sample, insert_history
from shared.exceptions import NotFound
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_execution, make_task, once, reload
from tests.insight.explain.cast import (
    HOUR,
    MINUTE,
    SECOND,
    minutely,
    owned,
    row,
    this_minute,
    working,
)
from tests.support.cursors import change_task

#: The checks of a task that depends on no other, and is no workflow.
_OF_OTHERS = (
    "dependencies",
    "run",
    "steps",
    "deadline",
    "budget",
    "concurrency_key",
    "tenant_limit",
)
ALONE = [check for check in CHECKS if check not in _OF_OTHERS]

pytestmark = pytest.mark.django_db


def test_the_nearest_instant_of_the_minute_is_explained_and_said_so(alpha: Tenant):
    task = minutely(alpha)
    kept = row(task, this_minute(-MINUTE), "SUCCEEDED")
    asked = kept.scheduled_for + 42 * SECOND

    found = explain_task(task, asked, database_now())

    assert (found.asked_at, found.scheduled_for) == (asked, kept.scheduled_for)
    assert found.execution_id == kept.pk
    assert found.verdict.startswith("The nearest expected instant is ")


def test_an_instant_without_a_neighbour_is_explained_itself(alpha: Tenant):
    task = make_task(alpha, daily())
    asked = datetime(2031, 6, 1, 12, 30, tzinfo=UTC)

    found = explain_task(task, asked, database_now())

    assert found.scheduled_for == asked
    assert found.state == "not_expected"
    assert found.verdict.startswith("It is not expected: the schedule has no such instant")


def test_without_an_instant_the_one_that_has_waited_longest_is_explained(alpha: Tenant):
    task = minutely(alpha)
    row(task, this_minute(-2 * MINUTE), "SUCCEEDED")
    waits = row(task, this_minute(-3 * MINUTE))
    row(task, this_minute(-MINUTE))

    assert explain_task(task, None, database_now()).execution_id == waits.pk


def test_without_an_instant_or_open_work_the_next_one_is_explained(alpha: Tenant):
    task = minutely(alpha)

    assert explain_task(task, None, database_now()).scheduled_for == task.next_run_at


def test_of_a_task_that_has_ended_the_last_run_is_explained(alpha: Tenant):
    execution = make_execution(alpha, "SUCCEEDED")
    task = reload(Task(pk=execution.task_id))

    assert explain_task(task, None, database_now()).execution_id == execution.pk
    Execution.objects.all().delete()
    assert explain_task(task, None, database_now()).execution_id is None


def test_an_instant_within_a_span_is_explained_by_it(alpha: Tenant):
    task = minutely(alpha)
    first = this_minute(-30 * MINUTE)
    stretch = {"span_last": first + 20 * MINUTE, "span_count": 21, "reason": "misfire_skipped"}
    row(task, first, "SKIPPED", **stretch)

    for moment in (first, first + 7 * MINUTE):
        found = explain_task(task, moment, database_now())
        assert (found.state, found.execution_id) == ("did_not_run", None)
        assert found.first_blocker is not None
        assert found.first_blocker.name == "misfire"
    beyond = explain_task(task, first + 25 * MINUTE, database_now())
    assert beyond.first_blocker is not None
    assert beyond.first_blocker.name == "prepared"


def test_between_the_instants_of_a_span_nothing_is_expected(alpha: Tenant):
    task = minutely(alpha, {"cron_expression": "0 * * * *"})
    first = this_minute(-3 * HOUR).replace(minute=0)
    span = {"span_last": first + 2 * HOUR, "span_count": 3, "reason": "misfire_skipped"}
    row(task, first, "SKIPPED", **span)

    found = explain_task(task, first + 30 * MINUTE, database_now())

    assert found.state == "not_expected"


@pytest.mark.parametrize(
    ("fields", "late"),
    [
        ({"reason": "misfire_coalesced"}, "caught up on an instant that was missed"),
        ({"reason": "paused_replayed"}, "caught up on an instant that fell into a pause"),
        ({"created_at": 5 * SECOND}, "it was put into the ledger at"),
        ({"queued_at": 5 * SECOND}, "no worker had free capacity from"),
        ({"queued_at": SECOND * 0}, "its worker, worker-1@host:1, had no slot free from"),
        ({"due_at": 4 * SECOND}, "it had its turn at"),
        ({"attempt": 2}, "its first attempt began at"),
    ],
)
def test_a_late_run_says_what_it_waited_for(alpha: Tenant, fields: dict[str, Any], late: str):
    task, moment = minutely(alpha), this_minute(-MINUTE)
    given = {
        name: moment + value if isinstance(value, timedelta) else value
        for name, value in fields.items()
    }
    made = row(task, moment, "SUCCEEDED", **{"started_at": moment + 5 * SECOND, **given})

    found = explain_execution(made, database_now())

    assert found.verdict.startswith("It ran late by 5 s: ")
    assert late in found.verdict


def test_a_run_on_time_is_told_with_its_end(alpha: Tenant):
    task = minutely(alpha)

    ran = explain_execution(row(task, this_minute(-MINUTE), "SUCCEEDED"), database_now())
    bad = {"error_code": "http_status"}
    failed = explain_execution(row(task, this_minute(-HOUR), "FAILED", **bad), database_now())

    assert ran.verdict.endswith("and succeeded.")
    assert failed.verdict.endswith("and failed: http_status.")
    assert (ran.state, failed.state) == ("ran", "ran")


def test_a_run_that_was_cancelled_half_way_ran(alpha: Tenant):
    half = {"started_at": this_minute(-MINUTE), "attempt": 1, "reason": "cancelled"}

    found = explain_execution(
        row(minutely(alpha), this_minute(-MINUTE), "CANCELLED", **half), database_now()
    )

    assert found.state == "ran"
    assert "was cancelled" in found.verdict


def test_the_start_is_estimated_where_it_can_be_known(alpha: Tenant):
    task, now = minutely(alpha, {"max_concurrent": 1}), database_now()
    ahead = this_minute(5 * MINUTE)
    assert explain_task(task, ahead, now).estimated_start == ahead

    holder = row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True)
    owned()
    gated = row(task, this_minute(-MINUTE), gated=True, held=True)
    assert explain_execution(gated, now).estimated_start == holder.lease_expires_at

    holder.delete()
    Execution.objects.filter(pk=gated.pk).update(gated=False, held=False)
    gated.refresh_from_db()
    assert explain_execution(gated, now).estimated_start is None  # no worker lives
    working()
    assert explain_execution(gated, now).estimated_start == now


def test_a_pause_with_an_end_gives_the_start_and_one_without_gives_none(alpha: Tenant):
    task, until = minutely(alpha), this_minute(HOUR)
    ahead = this_minute(5 * MINUTE)
    changing.pause_task(alpha.id, task.id, Pause(until, "", "replay"), actor=ACTOR)
    assert explain_task(reload(task), ahead, database_now()).estimated_start == until

    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
    assert explain_task(reload(task), ahead, database_now()).estimated_start is None


def test_what_a_pause_will_skip_will_not_run(alpha: Tenant):
    task = minutely(alpha)
    changing.pause_task(alpha.id, task.id, Pause(this_minute(HOUR)), actor=ACTOR)

    found = explain_task(reload(task), this_minute(5 * MINUTE), database_now())

    assert found.state == "will_not_run"
    assert found.verdict.startswith("It will not run: the task is paused")


@pytest.mark.parametrize("year", [1, 1969, 2199, 9999])
def test_times_at_the_ends_of_the_calendar_have_an_answer(alpha: Tenant, year: int):
    moment = datetime(year, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

    for task in (minutely(alpha), make_task(alpha, once())):
        assert explain_task(task, moment, database_now()).state in STATES


def test_an_execution_whose_task_is_gone_is_not_found(alpha: Tenant):
    made = row(minutely(alpha), this_minute(-MINUTE))
    made.task_id = made.pk

    with pytest.raises(NotFound):
        explain_execution(made, database_now())


@pytest.mark.parametrize("how", ["backfill", "made-up history"])
def test_an_instant_that_only_ran_beside_the_schedule_is_explained_as_that_run(
    alpha: Tenant, how: str
):
    task, at = minutely(alpha), this_minute(-2 * HOUR)
    if how == "backfill":
        job = BulkJob.objects.create(
            tenant=alpha,
            kind=KIND,
            action="backfill",
            filters={"task": str(task.pk)},
            total=0,
            next_at=database_now(),
            status="COMPLETED",
            finished_at=database_now(),
            created_by="user:0",
        )
        job.refresh_from_db()
        made = {"id": execution_of(job, task.pk, at), "series_id": job.pk, "trigger": "backfill"}
        row(task, at, "SUCCEEDED", **made)
    else:
        insert_history(alpha.id, [Sample(task.pk, at, 3.0, 40.0)], actor=ACTOR)

    found = explain_task(task, at, database_now())

    assert (found.state, found.scheduled_for) == ("ran", at)
    assert found.verdict.endswith("and succeeded.")
    asked = next(check for check in found.checks if check.name == "in_schedule")
    assert (asked.ok, "a backfill made it" in asked.says) == (None, True)


def test_an_instant_with_a_row_of_its_own_is_not_explained_by_a_backfill(alpha: Tenant):
    task, at = minutely(alpha), this_minute(-2 * HOUR)
    row(task, at, "SKIPPED", reason="misfire_skipped")
    insert_history(alpha.id, [Sample(task.pk, at, 3.0, 40.0)], actor=ACTOR)

    assert explain_task(task, at, database_now()).state == "did_not_run"


_MOMENTS = st.sampled_from([None, *(n * MINUTE for n in (-90, -5, -1, 0, 1, 5, 90))])
_SCHEDULES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"cron_expression": "* * * * *"},
        {"cron_expression": "broken"},
        {"every": "PT1M", "cron_expression": None},
        {"cron_expression": "* * * * *", "max_occurrences": 2, "jitter_seconds": 30},
        {"cron_expression": "30 2 * * *", "timezone": "Europe/Paris", "dst_gap": "skip"},
        {"cron_expression": "* * * * *", "calendars": ["gone"], "calendar_policy": "skip"},
        {"cron_expression": "* * * * *", "overlap_policy": "queue_one", "max_concurrent": 2},
        {"cron_expression": "* * * * *", "misfire_policy": "skip", "misfire_grace_seconds": 1},
    ]
)


def any_task(tenant: Tenant, draw: st.DataObject) -> Task:
    """Return a task in whatever state, of whatever schedule."""
    task, cursor = minutely(tenant), draw.draw(_MOMENTS)
    states = ["SCHEDULED", "PAUSED", "RUNNING", "COMPLETED", "CANCELLED"]
    change_task(
        task.pk,
        schedule={**task.schedule, **draw.draw(_SCHEDULES)},
        status=draw.draw(st.sampled_from(states)),
        paused_at=this_minute(),
        paused_until=draw.draw(st.sampled_from([None, this_minute(HOUR)])),
        pause_id=draw.draw(st.sampled_from([None, task.pk])),
        on_resume=draw.draw(st.sampled_from(["skip", "run_once", "replay", "never"])),
        next_run_at=None if cursor is None else this_minute(cursor),
        occurrence_count=draw.draw(st.integers(0, 5)),
        failure_streak=9,
        pause_after_failures=draw.draw(st.sampled_from([None, 3])),
        deleted_at=draw.draw(st.sampled_from([None, this_minute()])),
    )
    return reload(task)


def any_row(task: Task, draw: st.DataObject) -> Execution:
    """Return a row of the task in whatever state."""
    state = draw.draw(st.sampled_from(Status.values))
    gated = state == Status.PENDING and draw.draw(st.booleans())
    span = state == Status.SKIPPED and draw.draw(st.booleans())
    at = this_minute(draw.draw(st.sampled_from([-5, -1, 1])) * MINUTE)
    return row(
        task,
        at,
        state,
        reason=draw.draw(st.sampled_from(["", "nobody_knows", *REASONS])),
        trigger=draw.draw(st.sampled_from(Trigger.values)),
        revision=draw.draw(st.sampled_from([1, 7])),
        due_at=at + draw.draw(st.sampled_from([-1, 0, 40])) * SECOND,
        attempt=draw.draw(st.integers(0, 5)),
        started_at=draw.draw(st.sampled_from([None, at + SECOND])),
        queued_at=draw.draw(st.sampled_from([None, at])),
        gated=gated,
        held=gated or draw.draw(st.booleans()),
        series_id=draw.draw(st.sampled_from([None, task.pk])),
        span_last=at + 2 * MINUTE if span else None,
        span_count=3 if span else None,
        finished_at=this_minute() if state in FINAL else None,
    )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_the_data_says_there_is_an_answer(alpha: Tenant, data: st.DataObject):
    task = any_task(alpha, data)
    made, moment = any_row(task, data), data.draw(_MOMENTS)
    asked = None if moment is None else this_minute(moment) + 7 * SECOND

    now = database_now()
    for found in (explain_execution(made, now), explain_task(task, asked, now)):
        shown = present_explanation(found)
        assert shown["state"] in STATES
        assert [one["check"] for one in shown["checks"] if one["check"] in ALONE] == ALONE
        assert all(check["evidence"].endswith(".") for check in shown["checks"])
        assert shown["verdict"].endswith(".")
        stopped = found.state in ("waits", "will_not_run", "not_expected")
        assert not stopped or found.first_blocker is not None
    made.delete()
