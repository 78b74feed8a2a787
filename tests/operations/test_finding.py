from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from operations import finding
from shared.exceptions import InvalidInput, NotFound
from shared.ids import first_id_at
from tasks.models import Task
from tests.factories import make_execution, make_task


def _twins(tenant) -> list[Task]:
    """Return two tasks whose ids end in the same twelve letters."""
    first, second = make_task(tenant), make_task(tenant)
    for task in (first, second):
        twin = str(task.id)[:-12] + "abcdefabcdef"
        task.revisions.all().delete()
        Task.objects.filter(pk=task.pk).update(id=twin)
    return list(Task.objects.filter(tenant=tenant))


def test_a_task_is_found_by_its_id_and_by_its_end(alpha):
    task = make_task(alpha)

    assert finding.find_task(str(task.id)) == task
    assert finding.find_task(str(task.id)[-12:].upper(), "Alpha") == task


@pytest.mark.parametrize(
    "text", ["", "abc", "zzzzzzzzzzzz", "00000000-0000-0000-0000-000000000000"]
)
def test_what_is_not_there_is_not_found(alpha, text):
    make_task(alpha)

    with pytest.raises(NotFound):
        finding.find_task(text)


def test_an_end_that_fits_several_is_refused_with_all_of_them(alpha):
    twins = _twins(alpha)

    with pytest.raises(InvalidInput) as refused:
        finding.find_task("abcdefabcdef")

    message = refused.value.errors[0].message
    assert len({str(task.id) for task in twins}) == 2
    assert all(str(task.id) in message for task in twins)


def test_another_tenants_rows_are_out_of_reach(alpha, beta):
    execution = make_execution(alpha, "SUCCEEDED")

    with pytest.raises(NotFound):
        finding.find_task(str(execution.task_id), "Beta")
    with pytest.raises(NotFound):
        finding.find_execution(str(execution.id), "Beta")
    assert finding.find_execution(str(execution.id), "Alpha") == execution


def test_the_end_of_an_execution_is_looked_for_among_recent_ones(alpha):
    execution = make_execution(alpha, "SUCCEEDED")
    end = str(execution.id)[-12:]

    assert finding.find_execution(end) == execution
    low = first_id_at(database_now() - timedelta(days=1))
    query = str(finding.executions_of(None).scheduled_between(database_now(), None).query)
    assert low < execution.id
    assert '"executions"."id" >=' in query
    assert Execution.objects.count() == 1


def test_an_option_that_is_no_time_is_named(db):
    assert finding.moment_option("--since", None) is None
    assert finding.moment_option("--since", "2h") < database_now()
    with pytest.raises(InvalidInput) as refused:
        finding.moment_option("--since", "someday")
    assert refused.value.errors[0].message.startswith("--since: ")


def test_a_time_in_words_is_on_the_clock_of_its_zone_and_utc_otherwise():
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def read(text: str, **more: Any) -> Any:
        return finding.moment_option("--until", text, ahead=True, now=now, **more)

    assert read("monday 9:00") == datetime(2026, 11, 23, 9, tzinfo=UTC)
    assert read("monday 9:00", zone="Europe/Berlin") == datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert read("monday 9:00 Asia/Tokyo") == datetime(2026, 11, 23, 0, tzinfo=UTC)
