from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.models import Calendar
from tests.support.calendars import make_calendar

BODY = {
    "name": "Holidays",
    "description": "Bavaria",
    "weekend": [7, 6],
    "dates": ["2027-01-06", {"date": "2027-01-01", "name": "New Year"}, "2027-01-06"],
    "windows": [{"start": "2026-11-20T09:00:00+01:00", "end": "2026-11-20T10:00:00Z"}],
}


def create(client, body=None, **headers):
    return client.post("/v1/calendars", BODY if body is None else body, **headers)


def test_a_calendar_is_created_in_normal_form(client):
    answer = create(client)

    assert answer.status_code == 201
    shown = answer.json()
    assert answer["Location"] == f"/v1/calendars/{shown['id']}"
    assert answer["ETag"] == '"1"'
    assert {key: shown[key] for key in (*BODY, "version", "tasks")} == {
        "name": "Holidays",
        "description": "Bavaria",
        "weekend": [6, 7],
        "dates": [
            {"date": "2027-01-01", "name": "New Year"},
            {"date": "2027-01-06", "name": ""},
        ],
        "windows": [
            {"start": "2026-11-20T08:00:00.000Z", "end": "2026-11-20T10:00:00.000Z", "name": ""}
        ],
        "version": 1,
        "tasks": 0,
    }
    assert client.get(answer["Location"]).json() == shown


def test_a_name_is_enough_and_the_weekend_is_saturday_and_sunday(client):
    shown = create(client, {"name": "Empty"}).json()

    assert (shown["weekend"], shown["dates"], shown["windows"]) == ([6, 7], [], [])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/name"),
        ({"name": ""}, "#/name"),
        ({"name": "x" * 201}, "#/name"),
        ({"name": 5}, "#/name"),
        ({"name": "a", "oops": 1}, "#/oops"),
        ({"name": "a", "version": 1}, "#/version"),
        ({"name": "a", "weekend": [0]}, "#/weekend/0"),
        ({"name": "a", "weekend": [6, 6]}, "#/weekend/1"),
        ({"name": "a", "weekend": [1.5]}, "#/weekend/0"),
        ({"name": "a", "weekend": [True]}, "#/weekend/0"),
        ({"name": "a", "weekend": [1, 2, 3, 4, 5, 6, 7]}, "#/weekend"),
        ({"name": "a", "dates": "2027-01-01"}, "#/dates"),
        ({"name": "a", "dates": ["2027-02-30"]}, "#/dates/0/date"),
        ({"name": "a", "dates": ["2027-W01-1"]}, "#/dates/0/date"),
        ({"name": "a", "dates": ["20270101"]}, "#/dates/0/date"),
        ({"name": "a", "dates": ["1969-12-31"]}, "#/dates/0/date"),
        ({"name": "a", "dates": [5]}, "#/dates/0"),
        ({"name": "a", "dates": [{}]}, "#/dates/0/date"),
        ({"name": "a", "dates": [{"date": "2027-01-01", "x": 1}]}, "#/dates/0/x"),
        ({"name": "a", "dates": ["2027-01-01"] * 10_001}, "#/dates"),
        ({"name": "a", "windows": [{}]}, "#/windows/0/start"),
        ({"name": "a", "windows": ["x"]}, "#/windows/0"),
        (
            {"name": "a", "windows": [{"start": "2027-01-01", "end": "2027-01-02T00:00:00Z"}]},
            "#/windows/0/start",
        ),
        (
            {
                "name": "a",
                "windows": [{"start": "2027-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}],
            },
            "#/windows/0/end",
        ),
    ],
)
def test_what_is_not_valid_is_refused_with_its_place(client, body, pointer):
    answer = create(client, body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Calendar.objects.exists()


def test_ten_thousand_days_and_windows_are_taken(client):
    body = {
        "name": "Long",
        "dates": [
            f"{2000 + place // 336}-{place // 28 % 12 + 1:02}-{place % 28 + 1:02}"
            for place in range(10_000)
        ],
        "windows": [
            {
                "start": f"2027-01-01T{place // 3600:02}:{place // 60 % 60:02}:{place % 60:02}Z",
                "end": "2027-01-02T00:00:00Z",
                "name": "x" * 100,
            }
            for place in range(10_000)
        ],
    }

    answer = create(client, body)

    assert answer.status_code == 201
    assert (len(answer.json()["dates"]), len(answer.json()["windows"])) == (10_000, 10_000)


def test_a_body_that_is_too_large_is_413(client):
    assert create(client, {"name": "x" * (8 * 1024 * 1024)}).status_code == 413


def test_a_name_that_is_taken_is_409(client, alpha, stranger):
    make_calendar(alpha)

    answer = create(client)

    assert (answer.status_code, answer.json()["code"]) == (409, "calendar_exists")
    assert create(stranger).status_code == 201


def test_the_same_call_again_is_one_calendar(client):
    first = create(client, idempotency_key="c1")
    second = create(client, idempotency_key="c1")

    assert second.content == first.content
    assert Calendar.objects.count() == 1
    assert create(client, {"name": "Other"}, idempotency_key="c1").status_code == 422


def test_it_is_in_the_audit_log_with_counts_instead_of_days(client):
    create(client)

    entry = AuditEntry.objects.get(action="calendar.created")
    assert entry.after is not None
    assert '"dates":2' in entry.after
    assert "2027-01-01" not in entry.after
