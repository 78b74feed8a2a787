"""Every expected instant of a range is listed exactly once, in order, with what became of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.changes import changing
from executions.choices import Status, Trigger
from executions.loop.clocks import database_now
from executions.models import Execution, UnownedStretch
from insight import occurrences
from insight.occurrences import (
    EXPECTED,
    MOST_DAYS,
    Entry,
    Page,
    place_of,
    read_lines,
    read_occurrences,
)
from shared.exceptions import InvalidInput
from tasks.editing import spec_of
from tasks.models import Task
from tasks.schedules.base import MICROSECOND
from tasks.schedules.jitter import due_at
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, every_second, executions_of, make_task, prepare, reload
from tests.insight.explain.cast import (
    HOUR,
    MINUTE,
    SECOND,
    aged,
    minutely,
    one_minute,
    row,
    this_minute,
)
from tests.support.cursors import change_task

__all__ = ["one_minute"]
pytestmark = pytest.mark.django_db


def pages(task: Task, limit: int, **asked: Any) -> list[Page]:
    task, now = reload(task), database_now()
    wanted = {"since": None, "until": None, "cursor": None, **asked}
    found = [read_occurrences(task, place_of(task, now=now, **wanted), limit, now=now)]
    while found[-1].next_cursor:
        wanted = {"since": None, "until": None, "cursor": found[-1].next_cursor}
        found.append(read_occurrences(task, place_of(task, now=now, **wanted), limit, now=now))
    return found


def listed(task: Task, limit: int = 10_000, **asked: Any) -> list[Entry]:
    return [entry for page in pages(task, limit, **asked) for entry in page.entries]


def expected(task: Task, since: datetime, until: datetime) -> list[datetime]:
    found = spec_of(reload(task)).between(since - MICROSECOND, until, 100_000)
    return [occurrence.at for occurrence in found]


def missed(tenant: Tenant, seconds: int, **schedule: Any) -> Task:
    """Return a task of every second that no scheduler looked at for a while, prepared now."""
    task = make_task(tenant, every_second(schedule={"cron_expression": "* * * * * *", **schedule}))
    aged(task, 2 * HOUR)
    cursor = (database_now() - seconds * SECOND).replace(microsecond=0)
    change_task(task.pk, next_run_at=cursor)
    prepare()
    return reload(task)


@pytest.mark.parametrize("policy", ["skip", "coalesce", "replay"])
def test_a_long_outage_is_listed_instant_by_instant(alpha: Tenant, policy: str):
    task = missed(alpha, 400, misfire_policy=policy)
    first = executions_of(task)[0].scheduled_for
    until = first + 500 * SECOND

    found = listed(task, since=first, until=until)

    assert [entry.at for entry in found] == expected(task, first, until)
    spans = Execution.objects.filter(task_id=task.pk, span_count__isnull=False)
    assert spans.exists() == (policy != "replay")
    for span in spans:
        assert span.span_last is not None
        inside = [one for one in found if span.scheduled_for <= one.at <= span.span_last]
        assert len(inside) == span.span_count
        assert {(one.status, one.reason) for one in inside} == {(Status.SKIPPED, span.reason)}


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_of_any_size_make_up_the_whole(alpha: Tenant, limit: int):
    task = missed(alpha, 180, misfire_policy="skip")
    first = executions_of(task)[0].scheduled_for
    asked: dict[str, Any] = {"since": first + 100 * SECOND, "until": first + 230 * SECOND}

    assert listed(task, limit, **asked) == listed(task, **asked)


def test_a_page_in_the_middle_of_a_span_reads_no_more_than_the_first(alpha: Tenant):
    task = missed(alpha, 3600, misfire_policy="skip")
    first = executions_of(task)[0].scheduled_for
    place = place_of(task, since=first, until=None, cursor=None, now=database_now())

    with CaptureQueriesContext(connection) as of_first:
        page = read_occurrences(task, place, 200, now=database_now())
    later = place_of(task, since=None, until=None, cursor=page.next_cursor, now=database_now())
    with CaptureQueriesContext(connection) as of_second:
        second = read_occurrences(task, later, 200, now=database_now())

    assert len(of_second) <= len(of_first)
    assert second.entries[0].at == page.entries[-1].at + SECOND


def test_a_span_is_read_by_the_version_that_wrote_it(alpha: Tenant):
    task = missed(alpha, 300, misfire_policy="skip")
    span = Execution.objects.get(task_id=task.pk, span_count__isnull=False)
    old = task.revisions.get()
    hourly = {**task.schedule, "cron_expression": "0 0 * * * *"}
    task.revisions.create(
        version=2, definition={**old.definition, "schedule": hourly}, sealed=old.sealed
    )
    Task.objects.filter(pk=task.pk).update(version=2, schedule=hourly)

    found = listed(task, since=span.scheduled_for, until=span.span_last)

    assert len(found) == span.span_count


def test_of_a_span_whose_schedule_is_lost_the_ends_are_known(alpha: Tenant):
    task = missed(alpha, 300, misfire_policy="skip")
    span = Execution.objects.get(task_id=task.pk, span_count__isnull=False)
    Execution.objects.filter(pk=span.pk).update(revision=99)

    found = listed(task, since=span.scheduled_for, until=span.span_last)

    assert [entry.at for entry in found] == [span.scheduled_for, span.span_last]


def test_a_row_within_a_spans_stretch_takes_the_place_of_its_instant(alpha: Tenant):
    task = missed(alpha, 300, misfire_policy="skip")
    span = Execution.objects.get(task_id=task.pk, span_count__isnull=False)
    assert span.span_last is not None
    kept = row(task, span.scheduled_for + 10 * SECOND, "SUCCEEDED")
    since = span.scheduled_for + 5 * SECOND

    for begin in (since, kept.scheduled_for + SECOND):
        found = listed(task, since=begin, until=span.span_last)
        assert [entry.at for entry in found] == expected(task, begin, span.span_last)
    inside = listed(task, since=since, until=span.span_last)
    assert [one.execution_id for one in inside if one.execution_id] == [kept.pk]


def test_spans_as_lines_are_one_entry_each_on_their_first_page_only(alpha: Tenant):
    task = missed(alpha, 300, misfire_policy="coalesce")
    span = Execution.objects.get(task_id=task.pk, span_count__isnull=False)
    now = database_now()
    place = place_of(task, since=now - HOUR, until=now, cursor=None, now=now)

    page = read_occurrences(task, place, 3, now=now, spans_as_lines=True)
    rest = place_of(task, since=None, until=None, cursor=page.next_cursor, now=now)
    following = read_occurrences(task, rest, 3, now=now, spans_as_lines=True)

    first = page.entries[0]
    assert (first.count, first.last) == (span.span_count, span.span_last)
    assert all(entry.last is None for entry in [*page.entries[1:], *following.entries])
    assert following.entries[0].at > page.entries[-1].at


def test_prepared_and_coming_instants_meet_without_gap_or_repetition(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    first = executions_of(task)[0].scheduled_for

    found = listed(task, since=first, until=first + MINUTE)

    assert [entry.at for entry in found] == expected(task, first, first + MINUTE)
    prepared = [entry for entry in found if entry.execution_id]
    assert [entry.execution_id for entry in prepared] == [one.pk for one in executions_of(task)]
    assert {entry.status for entry in prepared} == {Status.PENDING}
    assert {(entry.status, entry.reason) for entry in found[len(prepared) :]} == {(EXPECTED, "")}


def test_a_row_beyond_the_cursor_is_listed_once(alpha: Tenant):
    task = minutely(alpha)
    kept = row(task, this_minute(3 * MINUTE))

    found = listed(task, since=this_minute(MINUTE), until=this_minute(5 * MINUTE))

    assert [entry.at for entry in found] == [this_minute(n * MINUTE) for n in range(1, 6)]
    assert [entry.execution_id for entry in found] == [None, None, kept.pk, None, None]


def test_between_the_last_row_and_the_cursor_nothing_is_made_up(alpha: Tenant):
    task = minutely(alpha)
    row(task, this_minute(-30 * MINUTE), "SUCCEEDED")

    found = listed(task, since=this_minute(-40 * MINUTE), until=this_minute())

    assert [entry.at for entry in found] == [this_minute(-30 * MINUTE)]


def test_runs_beside_the_schedule_are_not_occurrences(alpha: Tenant):
    task = minutely(alpha)
    row(task, this_minute(-30 * MINUTE), trigger=Trigger.MANUAL)

    assert listed(task, since=this_minute(-HOUR), until=this_minute()) == []


def test_max_occurrences_ends_the_list_on_whatever_page(alpha: Tenant):
    task = minutely(alpha, {"max_occurrences": 7}, occurrence_count=2)
    row(task, this_minute(2 * MINUTE))
    ahead: dict[str, Any] = {"since": this_minute(), "until": this_minute(60 * MINUTE)}

    found = listed(task, **ahead)

    assert [entry.at for entry in found] == [this_minute(n * MINUTE) for n in range(1, 6)]
    assert listed(task, 2, **ahead) == found
    assert listed(task, since=this_minute(4 * MINUTE), until=this_minute(HOUR)) == found[3:]


@pytest.mark.parametrize(
    ("on_resume", "reason"),
    [("skip", "paused"), ("run_once", "paused_coalesced"), ("replay", "paused_replayed")],
)
def test_what_will_fall_into_a_pause_says_so(alpha: Tenant, on_resume: str, reason: str):
    task, until = minutely(alpha), this_minute(3 * MINUTE)
    changing.pause_task(alpha.id, task.id, Pause(until, "", on_resume), actor=ACTOR)

    found = listed(task, since=this_minute(MINUTE), until=this_minute(5 * MINUTE))

    assert [entry.reason for entry in found] == [reason] * 3 + ["", ""]


def test_while_a_pause_has_no_end_all_that_comes_is_paused(alpha: Tenant):
    task = minutely(alpha)
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    found = listed(task, since=this_minute(MINUTE), until=this_minute(5 * MINUTE))

    assert {(entry.status, entry.reason) for entry in found} == {(EXPECTED, "paused")}


def test_an_instant_that_no_scheduler_decided_on_says_so(alpha: Tenant):
    task = minutely(alpha, next_run_at=this_minute(-3 * MINUTE))

    found = listed(task, since=this_minute(-5 * MINUTE), until=this_minute(-MINUTE))

    assert [entry.reason for entry in found] == ["not_prepared"] * 3


@pytest.mark.parametrize("status", ["CANCELLED", "COMPLETED"])
def test_a_task_that_has_ended_expects_nothing_more(alpha: Tenant, status: str):
    task = minutely(alpha, status=status, next_run_at=None)

    assert listed(task) == []


def test_a_schedule_that_cannot_be_read_leaves_what_is_in_the_ledger(alpha: Tenant):
    task = minutely(alpha)
    row(task, this_minute(-MINUTE), "SUCCEEDED")
    Task.objects.filter(pk=task.pk).update(schedule={"every": 3})

    assert [entry.at for entry in listed(task)] == [this_minute(-MINUTE)]


def test_the_range_is_a_day_on_either_side_of_now_unless_told(alpha: Tenant):
    task, now = minutely(alpha), database_now()

    whole = place_of(task, since=None, until=None, cursor=None, now=now)
    begun = place_of(task, since=now - 9 * HOUR, until=None, cursor=None, now=now)
    ended = place_of(task, since=None, until=now, cursor=None, now=now)

    assert (whole.since, whole.until) == (now - 24 * HOUR, now + 24 * HOUR)
    assert begun.until - begun.since == ended.until - ended.since == 48 * HOUR


def test_a_range_that_makes_no_sense_is_refused(alpha: Tenant):
    task, now = minutely(alpha), database_now()
    too_long = now + timedelta(days=MOST_DAYS, seconds=1)

    for until in (now - SECOND, too_long):
        with pytest.raises(InvalidInput):
            place_of(task, since=now, until=until, cursor=None, now=now)


def test_a_cursor_of_another_task_or_made_up_is_refused(alpha: Tenant):
    task, other, now = minutely(alpha), minutely(alpha), database_now()
    place = place_of(task, since=now, until=None, cursor=None, now=now)
    cursor = read_occurrences(task, place, 1, now=now).next_cursor

    for known, wrong in ((other, cursor), (task, "made up"), (task, f"{cursor}x")):
        with pytest.raises(InvalidInput):
            place_of(known, since=None, until=None, cursor=wrong, now=now)


def test_times_at_the_ends_of_the_calendar_are_no_error(alpha: Tenant):
    task, now = minutely(alpha), database_now()
    earliest = datetime(1, 1, 1, tzinfo=now.tzinfo)
    latest = datetime(9999, 12, 31, 23, 59, 59, tzinfo=now.tzinfo)

    for since, until in ((earliest, None), (None, earliest), (latest, latest), (None, latest)):
        place = place_of(task, since=since, until=until, cursor=None, now=now)
        assert read_occurrences(task, place, 5, now=now).entries is not None


def lines_of(task: Task, limit: int = 50, **asked: Any) -> list[Entry]:
    task, now = reload(task), database_now()
    wanted = {"since": None, "until": None, "cursor": None, **asked}
    found: list[Entry] = []
    while True:
        page = read_lines(task, place_of(task, now=now, **wanted), limit, now=now)
        found += page.entries
        if page.next_cursor is None:
            return found
        wanted = {"since": None, "until": None, "cursor": page.next_cursor}


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_alike_instants_that_do_not_run_are_one_line_and_all_are_counted(alpha: Tenant, limit: int):
    task = minutely(alpha)
    prepare()
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
    since, until = this_minute(-HOUR), this_minute(3 * HOUR)
    single = listed(task, since=since, until=until)

    lines = lines_of(task, limit, since=since, until=until)

    assert sum(line.count for line in lines) == len(single) >= 180
    assert len(lines) <= 3
    assert (lines[-1].status, lines[-1].reason) == (EXPECTED, "paused")
    assert (lines[-1].last, lines[0].at) == (single[-1].at, single[0].at)


def test_what_ran_is_never_folded(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    ran = executions_of(task)[:5]
    Execution.objects.filter(pk__in=[row.pk for row in ran]).update(
        status="SUCCEEDED", finished_at=database_now(), held=False
    )

    found = lines_of(task, since=ran[0].scheduled_for, until=ran[-1].scheduled_for)

    assert [line.count for line in found] == [1] * 5
    assert all(line.execution_id for line in found)


def test_a_page_of_lines_looks_at_a_bounded_number_of_instants(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(occurrences, "_MOST_LOOKED_AT", 100)
    task, now = minutely(alpha), database_now()
    place = place_of(task, since=now, until=now + 24 * HOUR, cursor=None, now=now)

    page = read_lines(reload(task), place, 50, now=now)

    assert [line.count for line in page.entries] == [100]
    assert page.next_cursor is not None


# --- late -----------------------------------------------------------------------------------


def reason_of(task: Task, at: datetime) -> str:
    [entry] = listed(task, since=at, until=at)
    return entry.reason


@pytest.mark.parametrize(
    ("late", "reason"), [(timedelta(), ""), (SECOND - MICROSECOND, ""), (SECOND, "late")]
)
def test_what_started_a_second_after_it_was_due_is_late(
    alpha: Tenant, late: timedelta, reason: str
):
    task, at = minutely(alpha), this_minute(-MINUTE)
    row(task, at, "SUCCEEDED", attempt=1, started_at=at + late)

    assert reason_of(task, at) == reason


@pytest.mark.parametrize("status", ["PENDING", "SUCCEEDED", "FAILED"])
def test_what_came_due_without_a_scheduler_says_so(alpha: Tenant, status: str):
    task, at = minutely(alpha), this_minute(-MINUTE)
    back = at + 12 * SECOND
    UnownedStretch.objects.create(partition=task.partition, since=at - SECOND, until=back)
    began = {} if status == "PENDING" else {"attempt": 1, "started_at": back + SECOND}
    row(task, at, status, due_at=back, **began)

    assert reason_of(task, at) == "late_no_scheduler"


def test_what_started_on_time_after_its_scheduler_had_died_is_not_late(alpha: Tenant):
    task, at = minutely(alpha), this_minute(-MINUTE)
    UnownedStretch.objects.create(partition=task.partition, since=at - SECOND, until=at + MINUTE)
    row(task, at, "SUCCEEDED", attempt=1, started_at=at)

    assert reason_of(task, at) == ""


def test_jitter_that_ends_after_an_outage_is_no_lateness(alpha: Tenant):
    task, at = minutely(alpha, {"jitter_seconds": 50}), this_minute(-MINUTE)
    due = due_at(spec_of(task), at, str(task.pk), 50)
    UnownedStretch.objects.create(partition=task.partition, since=at - SECOND, until=due)
    row(task, at, "SUCCEEDED", attempt=1, due_at=due, started_at=due)

    assert reason_of(task, at) == ""


def test_a_reason_of_its_own_and_a_later_attempt_are_not_called_late(alpha: Tenant):
    task, at = minutely(alpha), this_minute(-MINUTE)
    row(task, at, "SUCCEEDED", attempt=1, started_at=at + 9 * SECOND, reason="misfire_replayed")
    row(task, at - MINUTE, "SUCCEEDED", attempt=2, started_at=at)

    assert reason_of(task, at) == "misfire_replayed"
    assert reason_of(task, at - MINUTE) == ""
