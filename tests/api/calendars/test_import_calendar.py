from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.models import Calendar
from tests.executions.answers import problem
from tests.support.calendars import EASTER, ICAL, make_calendar
from tests.support.recounting import recounts


@pytest.fixture
def calendar(alpha):
    return make_calendar(alpha)


def take(client, calendar, body=None, query="", **headers):
    path = f"/v1/calendars/{calendar.id}/import{query}"
    return client.post(path, {"ical": ICAL} if body is None else body, **headers)


def dates(answer) -> list[str]:
    return [day["date"] for day in answer.json()["calendar"]["dates"]]


@recounts("calendar.content")
def test_days_are_added_and_what_was_left_out_is_said(client, calendar):
    answer = take(client, calendar)

    assert answer.status_code == 200
    assert answer["ETag"] == '"2"'
    assert answer.json()["imported"] == {
        "dates": 2,
        "windows": 1,
        "skipped_count": 1,
        "skipped": [{"line": 12, "name": "Nothing", "uid": "", "reason": "it takes no time"}],
        "notes_count": 0,
        "notes": [],
    }
    assert dates(answer) == [*EASTER, "2027-12-25", "2027-12-26"]
    assert answer.json()["calendar"]["windows"] == [
        {
            "start": "2027-11-20T08:00:00.000Z",
            "end": "2027-11-20T10:00:00.000Z",
            "name": "Patching",
        }
    ]


def test_the_text_itself_may_be_the_body(client, calendar):
    answer = take(
        client,
        calendar,
        ICAL.encode(),
        "?mode=replace",
        content_type="text/calendar; charset=utf-8",
    )

    assert answer.status_code == 200
    assert dates(answer) == ["2027-12-25", "2027-12-26"]


@pytest.mark.parametrize("raw", [b"", b" ", b"\n", b"\x00"])
def test_a_file_without_a_line_is_refused_as_any_other_that_is_no_calendar(client, calendar, raw):
    # Django's client names no type of an empty body by itself.
    answer = take(client, calendar, raw, content_type="text/calendar", CONTENT_TYPE="text/calendar")

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["code"] == "ical_invalid"


def test_the_days_may_take_the_place_of_the_old_ones(client, calendar):
    assert dates(take(client, calendar, {"ical": ICAL, "mode": "replace"})) == [
        "2027-12-25",
        "2027-12-26",
    ]


def test_the_same_file_again_changes_nothing(client, calendar):
    take(client, calendar)

    assert take(client, calendar).json()["calendar"]["version"] == 2


@pytest.mark.parametrize(
    ("body", "query", "pointer"),
    [
        ({}, "", "#/ical"),
        ({"ical": 5}, "", "#/ical"),
        ({"ical": "hello"}, "", "#/ical"),
        ({"ical": ICAL, "mode": "merge"}, "", "#/mode"),
        ({"ical": ICAL, "mode": "add"}, "?mode=replace", "?mode"),
        ({"ical": ICAL, "oops": 1}, "", "#/oops"),
        ({"ical": ICAL}, "?mode=x", "?mode"),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, calendar, body, query, pointer):
    answer = take(client, calendar, body, query)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert Calendar.objects.get().version == 1


def test_a_broken_event_is_left_out_and_named_and_the_rest_is_taken(client, calendar):
    broken = ICAL.replace("DTSTART:20271120T080000Z\r\nDURATION", "DTSTART:tomorrow\r\nDURATION")

    answer = take(client, calendar, {"ical": broken})

    assert answer.status_code == 200
    assert answer.json()["imported"]["skipped"][0] == {
        "line": 7,
        "name": "Patching",
        "uid": "",
        "reason": "its DTSTART (line 8) cannot be read: 'tomorrow'",
    }
    assert dates(answer) == [*EASTER, "2027-12-25", "2027-12-26"]


def test_a_dry_run_answers_what_would_be_and_changes_nothing(client, calendar):
    answer = take(client, calendar, query="?dry_run=true&mode=replace")

    assert answer.status_code == 200
    assert answer.json()["imported"]["dates"] == 2
    assert answer["ETag"] == '"1"'
    assert dates(answer) == ["2027-12-25", "2027-12-26"]
    kept = Calendar.objects.get()
    assert (kept.version, kept.last_import) == (1, None)
    assert [day["date"] for day in kept.dates] == EASTER


def test_the_report_stays_with_the_calendar_also_of_a_file_that_changes_nothing(client, calendar):
    take(client, calendar)
    take(client, calendar, {"ical": ICAL, "mode": "add"})

    report = client.get(f"/v1/calendars/{calendar.id}").json()["last_import"]

    assert (report["mode"], report["dates"], report["skipped_count"]) == ("add", 2, 1)
    assert report["skipped"][0]["reason"] == "it takes no time"


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        ("utf-8-sig", "text/calendar"),
        ("utf-16", "text/calendar; charset=utf-16"),
        ("utf-16", "text/calendar"),
        ("latin-1", "text/calendar; charset=iso-8859-1"),
        ("latin-1", "text/calendar"),
    ],
)
def test_a_file_may_come_in_any_of_the_usual_encodings(client, calendar, encoding, kind):
    raw = ICAL.replace("Christmas", "Weihnachten für alle").encode(encoding)

    answer = take(client, calendar, raw, content_type=kind)

    assert answer.json()["calendar"]["dates"][-1]["name"] == "Weihnachten für alle"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"\xff\xfe", "text/calendar", 400),
        (ICAL.encode(), "text/calendar; charset=punycode", 415),
        (ICAL.encode(), "text/plain", 415),
        (b"", "text/calendar", 400),
        (b"x" * (8 * 1024 * 1024 + 1), "text/calendar", 413),
    ],
)
def test_a_body_that_is_no_text_of_a_calendar_is_refused(client, calendar, body, kind, status):
    assert take(client, calendar, body, content_type=kind).status_code == status


def test_another_version_than_if_match_says_is_412(client, calendar):
    assert take(client, calendar, if_match='"2"').status_code == 412


def test_the_same_call_again_is_one_import_and_one_entry(client, calendar):
    first = take(client, calendar, idempotency_key="i1")
    second = take(client, calendar, idempotency_key="i1")

    assert second.content == first.content
    assert AuditEntry.objects.filter(action="calendar.updated").count() == 1
