"""Each thing that can stand in an instant's way is the first blocker, with its evidence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executions.changes import changing
from executions.changes.cancellation import cancel_execution
from executions.choices import JobStatus, Trigger
from executions.loop.clocks import database_now
from executions.models import BulkJob, DeadLetter, Execution
from insight.explain.answer import CHECKS, Explanation
from insight.explain.checks import first_to_wait_for, run_checks
from insight.explain.evidence import Situation
from insight.explain.explanation import explain_execution, explain_task
from tasks.models import Calendar, Task
from tasks.models import Pause as StandingPause
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_dead_letter, make_task, reload
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
from tests.support.closed_redis import closed_redis
from tests.support.cursors import change_task
from wire.worker_wishes import Word, change

#: The checks of a task that depends on no other.
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

Build = Callable[[Tenant], Explanation]
_PARIS = "Europe/Paris"


def of_row(found: Execution) -> Explanation:
    return explain_execution(found, database_now())


def at(task: Task, moment: datetime) -> Explanation:
    return explain_task(reload(task), moment, database_now())


def waiting(tenant: Tenant, schedule: dict[str, Any] | None = None, **fields: Any) -> Execution:
    """Return a row whose time has come, of a task of every minute."""
    return row(minutely(tenant, schedule), this_minute(-MINUTE), **fields)


def skipped(tenant: Tenant, reason: str, schedule: dict[str, Any] | None = None) -> Explanation:
    return of_row(waiting(tenant, schedule, status="SKIPPED", reason=reason))


def at_gate(tenant: Tenant, schedule: dict[str, Any]) -> Explanation:
    task = minutely(tenant, schedule)
    row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True)
    owned()
    return of_row(row(task, this_minute(-MINUTE), gated=True, held=True))


# --- the task and its tenant --------------------------------------------------------------------


def task_paused(tenant: Tenant) -> Explanation:
    task = minutely(tenant)
    changing.pause_task(tenant.id, task.id, Pause(note="Maintenance"), actor=ACTOR)
    return at(task, this_minute(5 * MINUTE))


def paused_until(tenant: Tenant) -> Explanation:
    task, until = minutely(tenant), database_now() + HOUR
    changing.pause_task(tenant.id, task.id, Pause(until, "", "replay"), actor=ACTOR)
    return at(task, this_minute(5 * MINUTE))


def held_row(tenant: Tenant) -> Explanation:
    found = row(minutely(tenant), this_minute(-MINUTE), "RETRYING", attempt=1)
    changing.pause_task(tenant.id, found.task_id, Pause(), actor=ACTOR)
    found.refresh_from_db()
    return of_row(found)


def standing(scope: str, value: str) -> Build:
    def build(tenant: Tenant) -> Explanation:
        StandingPause.objects.create(
            tenant=tenant, scope=scope, value=value, created_by="user:0", note="Freeze"
        )
        body = daily(schedule={"cron_expression": "* * * * *"}, labels={"team": "billing"})
        task = make_task(tenant, body)
        assert task.pause_id is not None
        return at(task, this_minute(5 * MINUTE))

    return build


def paused_by_itself(tenant: Tenant) -> Explanation:
    task = minutely(tenant, status="PAUSED", paused_at=this_minute(), failure_streak=5)
    Task.objects.filter(pk=task.pk).update(pause_after_failures=5)
    return at(task, this_minute(5 * MINUTE))


def task_cancelled(tenant: Tenant) -> Explanation:
    task = minutely(tenant)
    changing.cancel_task(tenant.id, task.id, actor=ACTOR)
    return at(task, this_minute(5 * MINUTE))


def row_of_cancelled_task(tenant: Tenant) -> Explanation:
    return of_row(waiting(tenant, status="CANCELLED", reason="task_cancelled"))


def task_deleted(tenant: Tenant) -> Explanation:
    found = waiting(tenant)
    changing.delete_task(tenant.id, found.task_id, actor=ACTOR)
    found.refresh_from_db()
    return of_row(found)


# --- the schedule -------------------------------------------------------------------------------


def not_in_schedule(tenant: Tenant) -> Explanation:
    task = minutely(tenant, {"cron_expression": "0 * * * *"})
    return at(task, this_minute().replace(minute=30) + HOUR)


def in_paris(cron: str, moment: datetime, **schedule: Any) -> Build:
    def build(tenant: Tenant) -> Explanation:
        body = daily(schedule={"cron_expression": cron, "timezone": _PARIS, **schedule})
        return at(make_task(tenant, body), moment)

    return build


def before_start(tenant: Tenant) -> Explanation:
    start = (database_now() + 48 * HOUR).isoformat()
    return at(minutely(tenant, {"start_at": start}), this_minute(HOUR))


def after_end(tenant: Tenant) -> Explanation:
    end = (database_now() + HOUR).isoformat()
    return at(minutely(tenant, {"end_at": end}), this_minute(2 * HOUR))


def max_occurrences(tenant: Tenant) -> Explanation:
    task = minutely(tenant, {"max_occurrences": 3}, occurrence_count=1)
    assert at(task, this_minute(2 * MINUTE)).state == "will_run"
    return at(task, this_minute(3 * MINUTE))


def max_occurrences_over(tenant: Tenant) -> Explanation:
    limits = {"occurrence_count": 3, "next_run_at": None, "status": "COMPLETED"}
    return at(minutely(tenant, {"max_occurrences": 3}, **limits), this_minute(3 * MINUTE))


def edited_since(tenant: Tenant) -> Explanation:
    task = minutely(tenant, {"cron_expression": "30 4 1 1 *"}, next_run_at=None)
    change_task(
        task.pk, version=2, next_run_at=this_minute(MINUTE), schedule=minutely(tenant).schedule
    )
    old = task.revisions.get()
    task.revisions.create(
        version=2,
        definition={**old.definition, "schedule": reload(task).schedule},
        sealed=old.sealed,
        created_at=database_now(),
    )
    return at(task, this_minute(-5 * MINUTE))


def before_creation(tenant: Tenant) -> Explanation:
    return at(minutely(tenant), this_minute(-3 * HOUR))


def edited_away(tenant: Tenant) -> Explanation:
    task = minutely(tenant)
    schedule = {**task.schedule, "cron_expression": "0 0 1 1 *"}
    old = task.revisions.get()
    task.revisions.create(
        version=2, definition={**old.definition, "schedule": schedule}, sealed=old.sealed
    )
    Task.objects.filter(pk=task.pk).update(version=2, schedule=schedule)
    return at(task, datetime(2031, 6, 1, 12, tzinfo=UTC))


# --- calendars ----------------------------------------------------------------------------------

_CHRISTMAS = datetime(2031, 12, 25, 7, tzinfo=UTC)


def holidays(tenant: Tenant, policy: str) -> Task:
    Calendar.objects.create(
        tenant=tenant, name="holidays-de", dates=[{"date": "2031-12-25", "name": "Christmas"}]
    )
    schedule = {
        "cron_expression": "0 8 * * *",
        "timezone": "Europe/Berlin",
        "calendars": ["holidays-de"],
        "calendar_policy": policy,
    }
    task = make_task(tenant, daily())
    Task.objects.filter(pk=task.pk).update(schedule={**task.schedule, **schedule})
    return task


def excluded(tenant: Tenant) -> Explanation:
    return at(holidays(tenant, "skip"), _CHRISTMAS)


def excluded_row(tenant: Tenant) -> Explanation:
    return skipped(tenant, "calendar_excluded")


def rolled(tenant: Tenant) -> Explanation:
    return at(holidays(tenant, "next_business_day"), _CHRISTMAS)


# --- due, prepared, missed ----------------------------------------------------------------------


def not_due(tenant: Tenant) -> Explanation:
    return at(minutely(tenant), this_minute(5 * MINUTE))


def jitter(tenant: Tenant) -> Explanation:
    found = waiting(tenant, {"jitter_seconds": 3000}, due_at=database_now() + 30 * MINUTE)
    return of_row(found)


def unowned(tenant: Tenant) -> Explanation:
    return of_row(waiting(tenant))


def lease_expired(tenant: Tenant) -> Explanation:
    owned(expired=MINUTE)
    return of_row(waiting(tenant))


def scheduler_dead(tenant: Tenant) -> Explanation:
    owned(silent=MINUTE)
    return of_row(waiting(tenant))


def not_prepared(tenant: Tenant) -> Explanation:
    owned(expired=MINUTE)
    moment = this_minute(-2 * MINUTE)
    return at(minutely(tenant, {"misfire_policy": "skip"}, next_run_at=moment), moment)


def will_be_skipped(tenant: Tenant) -> Explanation:
    owned()
    moment = this_minute(-2 * MINUTE)
    return at(minutely(tenant, {"misfire_policy": "skip"}, next_run_at=moment), moment)


def will_be_coalesced(tenant: Tenant) -> Explanation:
    owned()
    moment = this_minute(-9 * MINUTE)
    return at(minutely(tenant, next_run_at=moment), moment)


def beyond_grace(tenant: Tenant) -> Explanation:
    owned()
    moment = this_minute(-9 * MINUTE)
    limits = {"misfire_policy": "replay", "misfire_grace_seconds": 60}
    return at(minutely(tenant, limits, next_run_at=moment), moment)


def no_row_in_the_past(tenant: Tenant) -> Explanation:
    return at(minutely(tenant), this_minute(-9 * MINUTE))


def past_retention(tenant: Tenant) -> Explanation:
    task = minutely(tenant)
    old = database_now() - timedelta(days=400)
    Task.objects.filter(pk=task.pk).update(created_at=old)
    task.revisions.update(created_at=old)
    return at(task, this_minute(timedelta(days=-200)))


def misfire(reason: str) -> Build:
    return lambda tenant: skipped(tenant, reason)


# --- the gate -----------------------------------------------------------------------------------


def overlap_waits(tenant: Tenant) -> Explanation:
    return at_gate(tenant, {"overlap_policy": "queue_all"})


def over_max_concurrent(tenant: Tenant) -> Explanation:
    return at_gate(tenant, {"max_concurrent": 1})


def in_backfill(tenant: Tenant, **fields: Any) -> Explanation:
    job = BulkJob.objects.create(
        tenant=tenant,
        kind="instants",
        action="backfill",
        name="Last week",
        options={"max_parallel": 1, "overlap_policy": "allow"},
        total=0,
        next_at=database_now(),
        status=JobStatus.COMPLETED,
        finished_at=database_now(),
        created_by="user:0",
    )
    task = minutely(tenant)
    series: dict[str, Any] = {"series_id": job.id, "trigger": Trigger.BACKFILL}
    row(task, this_minute(-2 * MINUTE), "RUNNING", counted=True, **series)
    owned()
    waits = {"gated": True, "held": True, **fields}
    return of_row(row(task, this_minute(-MINUTE), **series, **waits))


def job_cancelled(tenant: Tenant) -> Explanation:
    done = {"gated": False, "held": False, "status": "CANCELLED", "reason": "job_cancelled"}
    return in_backfill(tenant, **done)


# --- the way to a worker ------------------------------------------------------------------------


def retry_wait(tenant: Tenant) -> Explanation:
    parts: dict[str, Any] = {
        "attempt": 1,
        "error_code": "http_status",
        "error_message": "The answer was 500.",
    }
    return of_row(waiting(tenant, status="RETRYING", due_at=database_now() + HOUR, **parts))


def no_worker(tenant: Tenant) -> Explanation:
    owned()
    return of_row(waiting(tenant))


def workers_quiet(tenant: Tenant) -> Explanation:
    owned()
    working()
    change(Word.QUIET, {"worker-1@host:1": 0})
    return of_row(waiting(tenant))


def workers_full(tenant: Tenant) -> Explanation:
    owned()
    working(slots=1)
    found = waiting(tenant)
    row(reload(Task(pk=found.task_id)), this_minute(-2 * MINUTE), "RUNNING")
    return of_row(found)


def leased(tenant: Tenant) -> Explanation:
    return of_row(waiting(tenant, status="QUEUED"))


def cancelled(tenant: Tenant) -> Explanation:
    found = waiting(tenant)
    return of_row(cancel_execution(tenant.id, found.pk, actor=ACTOR))


def failed(tenant: Tenant) -> Explanation:
    letter: DeadLetter = make_dead_letter(tenant)
    return of_row(Execution.objects.get(pk=letter.execution_id))


BLOCKED: list[tuple[str, Build, str, str, str]] = [
    ("task paused", task_paused, "task_active", "waits", "Note: Maintenance."),
    ("paused until", paused_until, "task_active", "waits", " until "),
    ("row held by a pause", held_row, "task_active", "waits", "The task is paused by test since"),
    (
        *("pause of a label", standing("label", "team:billing"), "task_active", "waits"),
        "A standing pause of the label team:billing holds the task",
    ),
    ("pause of a pool", standing("pool", "default"), "task_active", "waits", "the pool default"),
    (
        *("pause of a destination", standing("destination", "api.example.com"), "task_active"),
        *("waits", "the destination api.example.com"),
    ),
    ("pause of a tenant", standing("tenant", ""), "task_active", "waits", "the whole tenant"),
    ("paused by itself", paused_by_itself, "task_active", "waits", "after 5 failures in a row"),
    (
        *("fell into a pause", lambda tenant: skipped(tenant, "paused"), "task_active"),
        *("did_not_run", "It fell into a pause"),
    ),
    (
        *("made up for on resuming", lambda tenant: skipped(tenant, "paused_coalesced")),
        *("task_active", "did_not_run", "the last one of the pause ran for all"),
    ),
    ("task cancelled", task_cancelled, "task_active", "will_not_run", "is cancelled, by test"),
    ("cancelled with task", row_of_cancelled_task, "task_active", "did_not_run", "was cancelled"),
    ("task deleted", task_deleted, "task_exists", "did_not_run", "by test"),
    ("not in schedule", not_in_schedule, "in_schedule", "not_expected", "The one before is"),
    (
        *(
            "gap skipped",
            in_paris("30 2 * * *", datetime(2031, 3, 30, 1, tzinfo=UTC), dst_gap="skip"),
        ),
        *("in_schedule", "not_expected", "dst_gap is skip"),
    ),
    (
        "other side of an overlap",
        in_paris("30 2 * * *", datetime(2031, 10, 26, 1, 30, tzinfo=UTC)),
        *("in_schedule", "not_expected", "occurs twice that day, and dst_overlap is first"),
    ),
    ("before start", before_start, "in_schedule", "not_expected", "(start_at)"),
    ("after end", after_end, "in_schedule", "not_expected", "(end_at)"),
    ("max_occurrences", max_occurrences, "in_schedule", "not_expected", "Its 3 occurrences"),
    ("all used", max_occurrences_over, "in_schedule", "not_expected", "Its 3 occurrences"),
    ("edited since", edited_since, "in_schedule", "not_expected", "version 1, in force then"),
    (
        "edited away",
        edited_away,
        "in_schedule",
        "not_expected",
        "to version 2 removed this instant",
    ),
    ("before creation", before_creation, "in_schedule", "not_expected", "was made later"),
    ("excluded", excluded, "calendar", "will_not_run", "holidays-de, excludes 2031-12-25"),
    ("excluded row", excluded_row, "calendar", "did_not_run", "A calendar, of the task"),
    ("rolled", rolled, "calendar", "will_not_run", "It was moved to 2031-12-26 07:00:00 UTC"),
    ("partition unowned", unowned, "prepared", "waits", "No scheduler owns partition"),
    ("lease expired", lease_expired, "prepared", "waits", "has lost its lease"),
    ("scheduler dead", scheduler_dead, "prepared", "waits", "scheduler-1@host, is silent since"),
    ("not prepared", not_prepared, "prepared", "waits", "has lost its lease"),
    ("no row, past", no_row_in_the_past, "prepared", "did_not_run", "without this instant"),
    ("past retention", past_retention, "prepared", "did_not_run", "keeps 90 days"),
    ("missed", misfire("misfire_skipped"), "misfire", "did_not_run", "misfire_policy is skip"),
    ("coalesced", misfire("misfire_coalesced"), "misfire", "did_not_run", "another run covers"),
    ("grace", misfire("misfire_grace_exceeded"), "misfire", "did_not_run", "misfire_grace"),
    ("to be skipped", will_be_skipped, "misfire", "will_not_run", "misfire_policy is skip"),
    ("to be coalesced", will_be_coalesced, "misfire", "will_not_run", "The latest one|the latest"),
    ("beyond grace", beyond_grace, "misfire", "will_not_run", "misfire_grace_seconds is 60"),
    (
        *("overlap skipped", lambda tenant: skipped(tenant, "overlap_skipped"), "overlap"),
        *("did_not_run", "An earlier run held its place"),
    ),
    (
        "cancelled for the next",
        lambda tenant: of_row(waiting(tenant, status="CANCELLED", reason="overlap_cancelled")),
        *("overlap", "did_not_run", "cancel_running"),
    ),
    ("overlap waits", overlap_waits, "overlap", "waits", "(RUNNING since"),
    ("max_concurrent", over_max_concurrent, "overlap", "waits", "only place (max_concurrent)"),
    ("backfill limit", in_backfill, "bulk_job", "waits", "Last week runs 1 at a time"),
    ("job cancelled", job_cancelled, "bulk_job", "did_not_run", "Last week, was cancelled"),
    ("no worker", no_worker, "workers", "waits", "No live worker of the pool default"),
    ("workers quiet", workers_quiet, "workers", "waits", "takes new work: 1 quiet"),
    ("workers full", workers_full, "workers", "waits", "1 of 1 places"),
    ("cancelled", cancelled, "outcome", "did_not_run", "It was cancelled by test"),
    ("failed", failed, "outcome", "ran", "http_status"),
]


@pytest.mark.parametrize(
    ("build", "check", "state", "words"),
    [found[1:] for found in BLOCKED],
    ids=[found[0].replace(" ", "-") for found in BLOCKED],
)
def test_what_stands_in_the_way_is_the_first_blocker_with_its_evidence(
    alpha: Tenant, build: Build, check: str, state: str, words: str
):
    found = build(alpha)

    blocker = found.first_blocker
    assert blocker is not None, found.verdict
    assert (blocker.name, found.state) == (check, state), blocker.evidence
    assert any(word in blocker.evidence for word in words.split("|")), blocker.evidence
    assert found.verdict.endswith(".")
    assert [one.name for one in found.checks] == ALONE


def test_a_gap_that_is_skipped_is_named_for_the_time_that_would_have_been(alpha: Tenant):
    would_be = datetime(2031, 3, 30, 1, 30, tzinfo=UTC)

    found = in_paris("30 2 * * *", would_be, dst_gap="skip")(alpha)

    assert found.first_blocker is not None
    assert "dst_gap is skip" in found.first_blocker.evidence


def test_without_redis_nothing_is_handed_over(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    owned()
    found = waiting(alpha)
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    explained = of_row(found)

    assert explained.first_blocker is not None
    assert explained.first_blocker.name == "redis"
    assert explained.state == "waits"


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED"])
def test_what_runs_or_ran_has_no_blocker(alpha: Tenant, status: str):
    found = of_row(waiting(alpha, status=status))

    assert found.first_blocker is None
    assert found.state in ("runs", "ran")
    assert found.estimated_start is None


def test_what_is_free_to_start_has_no_blocker(alpha: Tenant):
    owned()
    working()

    found = of_row(waiting(alpha))

    assert found.first_blocker is None
    assert (found.state, found.verdict[:20]) == ("will_run", "It is about to start")


def test_a_run_by_hand_goes_on_while_its_task_is_paused(alpha: Tenant):
    owned()
    working()
    task = minutely(alpha, status="PAUSED", paused_at=this_minute())

    found = of_row(row(task, this_minute(-MINUTE), trigger=Trigger.MANUAL))

    assert found.first_blocker is None


NOT_YET: list[tuple[str, Build, str, str]] = [
    ("not due", not_due, "due", "It is due at"),
    ("jitter", jitter, "due", "Its jitter of up to 3000 s"),
    ("retry wait", retry_wait, "retry", "Attempt 1 ended with http_status"),
    ("leased", leased, "lease", "was handed it at"),
]


@pytest.mark.parametrize(
    ("build", "check", "words"),
    [found[1:] for found in NOT_YET],
    ids=[found[0].replace(" ", "-") for found in NOT_YET],
)
def test_what_passes_by_itself_with_time_blocks_nothing(
    alpha: Tenant, build: Build, check: str, words: str
):
    found = build(alpha)

    assert (found.state, found.first_blocker) == ("will_run", None)
    [waits] = [one for one in found.checks if one.not_yet]
    assert (waits.name, waits.ok) == (check, None)
    assert words in waits.evidence
    assert waits.says in found.verdict
    assert found.estimated_start is not None


def test_an_instant_of_the_next_seconds_without_a_scheduler_waits_for_one(alpha: Tenant):
    task = minutely(alpha, {"cron_expression": "* * * * * *"})
    now = database_now()
    ahead = now.replace(microsecond=0) + 2 * SECOND
    change_task(task.pk, next_run_at=ahead)

    found = explain_task(reload(task), ahead, now)

    assert found.state == "waits"
    assert found.first_blocker is not None
    assert found.first_blocker.name == "prepared"


@pytest.mark.parametrize("build", [not_due, retry_wait, leased, no_worker])
def test_no_explanation_says_that_it_will_run_above_a_check_that_failed(
    alpha: Tenant, build: Build
):
    found = build(alpha)

    failed = [check.name for check in found.checks if check.ok is False]
    assert (found.state == "will_run") is (failed == [])


def test_the_check_to_wait_for_is_the_first_of_the_whole_list(alpha: Tenant):
    execution = waiting(alpha)
    found = Situation(
        reload(Task(pk=execution.task_id)), execution.scheduled_for, database_now(), execution
    )

    assert first_to_wait_for(found) == next(check for check in run_checks(found) if check.holds_up)
