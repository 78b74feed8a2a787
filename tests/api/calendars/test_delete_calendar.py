from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.models import Calendar
from tests.factories import make_task
from tests.support.calendars import make_calendar, under


@pytest.fixture
def calendar(alpha):
    return make_calendar(alpha)


def delete(client, calendar, **headers):
    return client.delete(f"/v1/calendars/{calendar.id}", **headers)


def test_a_calendar_that_no_task_names_is_deleted(client, calendar):
    assert delete(client, calendar).status_code == 204
    assert delete(client, calendar).status_code == 404
    assert not Calendar.objects.exists()
    assert AuditEntry.objects.filter(action="calendar.deleted").count() == 1


def test_one_that_tasks_name_is_409_with_their_number(client, alpha, calendar):
    task = make_task(alpha, under("Holidays"))
    make_task(alpha, under("Holidays"))

    answer = delete(client, calendar)

    assert (answer.status_code, answer.json()["code"]) == (409, "calendar_in_use")
    assert "2 tasks" in answer.json()["detail"]
    client.patch(f"/v1/tasks/{task.id}", {"schedule": {"calendars": []}})
    assert "1 task names" in delete(client, calendar).json()["detail"]


def test_a_deleted_task_does_not_keep_it(client, alpha, calendar):
    task = make_task(alpha, under("Holidays"))
    client.delete(f"/v1/tasks/{task.id}")

    assert delete(client, calendar).status_code == 204


def test_another_version_than_if_match_says_is_412(client, calendar):
    assert delete(client, calendar, if_match='"7"').status_code == 412
    assert delete(client, calendar, if_match='"1"').status_code == 204
