from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from executions.loop.clocks import database_now
from shared.exceptions import Conflict, InvalidInput, NotFound, VersionMismatch
from tasks import calendars
from tasks.calendar_content import read_content
from tasks.editing import spec_of
from tasks.limits import current_limits
from tasks.models import Task
from tasks.validation.bodies import parse_create, parse_patch
from tests.factories import ACTOR, make_task
from tests.support.calendars import EASTER, make_calendar, under


def excluded(task) -> list[str]:
    walk = spec_of(task).between(database_now(), database_now() + timedelta(days=900), 900)
    return [f"{one.at:%Y-%m-%d}" for one in walk if one.excluded]


def test_a_task_keeps_the_days_of_its_calendars_free(alpha):
    make_calendar(alpha)
    make_calendar(alpha, "More", dates=["2027-05-01"])

    assert excluded(make_task(alpha, under("Holidays", "More"))) == [*EASTER, "2027-05-01"]
    assert excluded(make_task(alpha)) == []


def test_calendars_of_many_schedules_are_read_in_one_query_and_kept(alpha, beta):
    make_calendar(alpha)
    make_calendar(beta, dates=["2027-05-01"])
    tasks = [make_task(tenant, under("Holidays")) for tenant in (alpha, beta) for _ in range(3)]
    read = calendars.spec_reader((task.tenant_id, task.schedule) for task in tasks)

    with CaptureQueriesContext(connection) as queries:
        read = calendars.spec_reader((task.tenant_id, task.schedule) for task in tasks)
        specs = [
            read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
            for task in tasks
        ]

    assert len(queries) == 1
    until = database_now() + timedelta(days=900)
    counted = [
        sum(bool(one.excluded) for one in spec.between(until - timedelta(days=900), until, 900))
        for spec in specs
    ]
    assert counted == [2, 2, 2, 1, 1, 1]


def test_schedules_without_calendars_cost_no_query(alpha):
    task = make_task(alpha)

    with CaptureQueriesContext(connection) as queries:
        spec_of(task)

    assert not queries.captured_queries


def test_a_change_that_is_rolled_back_leaves_nothing_behind(alpha):
    calendar = make_calendar(alpha)
    task = make_task(alpha, under("Holidays"))

    def change(*days: str) -> None:
        locked = calendars.lock_calendar(alpha.id, calendar.id)
        content = read_content({"dates": list(days)}, calendars.content_of(locked))
        calendars.update_calendar(locked, content)

    with transaction.atomic():
        change("2027-06-01")
        assert excluded(task) == ["2027-06-01"]
        transaction.set_rollback(True)
    assert excluded(task) == EASTER
    change("2027-07-01")
    assert excluded(task) == ["2027-07-01"]


def test_a_name_that_no_calendar_has_is_refused_where_it_stands(alpha, beta):
    make_calendar(beta)

    for limits in (calendars.limits_of(alpha.id), current_limits()):
        with pytest.raises(InvalidInput) as refused:
            parse_create(under("Holidays"), now=database_now(), limits=limits)
        assert [(e.pointer, e.code) for e in refused.value.errors] == [
            ("#/schedule/calendars/0", "calendar_unknown")
        ]


@pytest.mark.parametrize(
    ("names", "pointer", "code"),
    [
        (["Holidays", "Holidays"], "#/schedule/calendars/1", "duplicate"),
        (["Holidays", "None"], "#/schedule/calendars/1", "calendar_unknown"),
        ([5], "#/schedule/calendars/0", "invalid_type"),
        ([""], "#/schedule/calendars/0", "blank"),
        ("Holidays", "#/schedule/calendars", "invalid_type"),
        (["Holidays"] * 21, "#/schedule/calendars", "too_many"),
    ],
)
def test_calendars_of_a_schedule_are_names_each_once(alpha, names, pointer, code):
    make_calendar(alpha)
    body = under()
    body["schedule"]["calendars"] = names

    with pytest.raises(InvalidInput) as refused:
        parse_create(body, now=database_now(), limits=calendars.limits_of(alpha.id))

    assert [(e.pointer, e.code) for e in refused.value.errors] == [(pointer, code)]


def test_an_edit_keeps_what_the_schedule_names(alpha):
    make_calendar(alpha)
    limits = calendars.limits_of(alpha.id)
    definition = parse_create(under("Holidays"), now=database_now(), limits=limits)

    edited, _ = parse_patch(definition, {"priority": 1}, now=database_now(), limits=limits)

    assert edited.schedule["calendars"] == ["Holidays"]


def test_a_calendar_that_went_in_between_is_refused_where_the_task_is_made(alpha):
    calendar = make_calendar(alpha)
    limits = calendars.limits_of(alpha.id)
    assert limits.calendars(["Holidays"])
    calendars.delete_calendar(calendar, actor=ACTOR)

    with pytest.raises(InvalidInput) as refused:
        make_task(alpha, under("Holidays"))

    assert refused.value.errors[0].code == "calendar_unknown"


def test_names_counts_and_summaries_are_the_tenants_own(alpha, beta):
    make_calendar(alpha, "b")
    make_calendar(alpha, "a")
    make_calendar(beta, "c")
    make_task(alpha, under("a"))
    make_task(beta, under("c"))

    assert calendars.names(alpha.id) == ["a", "b"]
    assert calendars.counts_of_tasks(alpha.id) == {"a": 1}
    (summary,) = calendars.summaries(alpha.id, "A")
    assert summary.date_count == 2  # type: ignore[attr-defined]  # counted by the query
    assert [task.tenant for task in calendars.tasks_naming(beta.id, "c")] == [beta]
    assert not calendars.tasks_naming(alpha.id, "c").exists()


def test_the_tasks_of_a_calendar_are_found_by_their_index(alpha):
    make_calendar(alpha)
    Task.objects.bulk_create(
        Task(tenant=alpha, name="plain", type="RECURRING", partition=0, schedule={"calendars": []})
        for _ in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks")
        cursor.execute("SET LOCAL enable_seqscan = off")

    assert "tasks_with_calendars_idx" in calendars.tasks_naming(alpha.id, "Holidays").explain()


def test_locking_judges_tenant_and_version(alpha, beta):
    calendar = make_calendar(alpha)

    with pytest.raises(NotFound):
        calendars.lock_calendar(beta.id, calendar.id)
    with pytest.raises(NotFound):
        calendars.lock_calendar(alpha.id, uuid4())
    with pytest.raises(VersionMismatch):
        calendars.lock_calendar(alpha.id, calendar.id, 2)


def test_a_name_is_taken_once_in_a_tenant(alpha, beta):
    make_calendar(alpha)
    make_calendar(beta)

    with pytest.raises(Conflict) as refused:
        make_calendar(alpha)
    assert refused.value.code == "calendar_exists"


def test_a_description_alone_does_not_concern_tasks(alpha):
    calendar = make_calendar(alpha)
    content = calendars.content_of(calendar)

    assert calendars.update_calendar(calendar, content) is None
    described = read_content({"description": "Ours"}, content)
    updated = calendars.update_calendar(calendar, described)
    assert updated is not None
    assert (updated.days_changed, updated.change.action) == (False, "calendar.updated")
    assert calendar.version == 2
    again = calendars.update_calendar(calendar, read_content({"weekend": []}, described))
    assert again is not None
    assert again.days_changed
