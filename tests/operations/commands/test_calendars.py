from __future__ import annotations

import json
from typing import Any

import pytest

from tasks.models import Calendar
from tests.factories import make_task
from tests.support.calendars import EASTER, ICAL, make_calendar, under
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def read(verb: str, *words: str) -> dict[str, Any]:
    said = call("calendars", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"calendars-{verb}", said.out)


def days(document: dict[str, Any]) -> list[str]:
    return [one["date"] for one in document["dates"]]


def test_list_counts_days_and_tasks(alpha):
    make_calendar(alpha)
    make_calendar(alpha, "Maintenance", dates=[])
    make_task(alpha, under("Holidays"))

    found = read("list")["calendars"]

    assert [(one["name"], one["date_count"], one["tasks"]) for one in found] == [
        ("Holidays", 2, 1),
        ("Maintenance", 0, 0),
    ]
    assert read("list", "--q", "main")["total"] == 1
    assert "Holidays" in call("calendars", "list").out


def test_a_calendar_is_found_by_name_or_id(alpha):
    calendar = make_calendar(alpha)

    assert read("show", "Holidays") == read("show", str(calendar.id))
    assert "2027-03-26" in call("calendars", "show", "Holidays").out
    assert call("calendars", "show", "Nothing").code == 3


def test_which_tenant_is_meant_must_be_clear(alpha, beta):
    make_calendar(beta)

    assert call("calendars", "show", "Holidays").code == 2
    assert call("calendars", "show", "Holidays", "--tenant", "Alpha").code == 3
    assert call("calendars", "show", "Holidays", "--tenant", "Beta").code == 0


def test_create_takes_days_windows_and_the_weekend(alpha):
    made = read(
        "create",
        "Holidays",
        "--date",
        "2027-01-01=New Year",
        "--date",
        "2027-01-06",
        "--window",
        "2027-02-06T22:00Z/2027-02-07T02:00+01:00=Patching",
        "--weekend",
        "5,6",
        "--description",
        "Ours",
    )

    assert made["dates"] == [
        {"date": "2027-01-01", "name": "New Year"},
        {"date": "2027-01-06", "name": ""},
    ]
    assert made["windows"][0]["end"] == "2027-02-07T01:00:00.000Z"
    assert (made["weekend"], made["description"]) == ([5, 6], "Ours")
    assert call("calendars", "create", "Holidays").code == 4


def test_create_takes_the_body_of_the_api(alpha, tmp_path):
    body = tmp_path / "calendar.json"
    body.write_text(json.dumps({"dates": ["2027-01-01"], "weekend": []}))

    made = read("create", "Holidays", "--file", str(body), "--date", "2027-01-02")

    assert (days(made), made["weekend"]) == (["2027-01-01", "2027-01-02"], [])


def test_edit_adds_and_removes_and_keeps_the_rest(alpha):
    make_calendar(alpha, windows=[{"start": "2027-02-06T22:00:00Z", "end": "2027-02-07T02:00:00Z"}])

    edited = read(
        "edit",
        "Holidays",
        "--date",
        "2027-05-01",
        "--remove-date",
        EASTER[0],
        "--remove-window",
        "2027-02-06T22:00Z/2027-02-07T02:00Z",
        "--weekend",
        "none",
        "--version",
        "1",
    )

    assert days(edited) == [EASTER[1], "2027-05-01"]
    assert (edited["windows"], edited["weekend"], edited["version"]) == ([], [], 2)
    assert call("calendars", "edit", "Holidays", "--version", "1").code == 4


@pytest.mark.parametrize(
    "words",
    [
        ("--date", "tomorrow"),
        ("--remove-date", "2001-01-01"),
        ("--window", "2027-02-06T22:00Z"),
        ("--remove-window", "2027-02-06T22:00Z/2027-02-07T02:00Z"),
        ("--weekend", "Sunday"),
        ("--weekend", "8"),
    ],
)
def test_what_makes_no_sense_is_wrong_use_and_changes_nothing(alpha, words):
    make_calendar(alpha)

    assert call("calendars", "edit", "Holidays", *words).code == 2
    assert Calendar.objects.get().version == 1


def test_delete_asks_and_is_refused_while_tasks_name_it(alpha):
    make_calendar(alpha)
    task = make_task(alpha, under("Holidays"))

    assert call("calendars", "delete", "Holidays").code == 2
    refused = call("calendars", "delete", "Holidays", "--yes")
    assert (refused.code, "1 task names" in refused.err) == (4, True)

    task.delete()
    assert read("delete", "Holidays", "--yes")["name"] == "Holidays"
    assert not Calendar.objects.exists()


def test_import_reads_a_file_and_says_what_it_left_out(alpha, tmp_path):
    make_calendar(alpha)
    file = tmp_path / "holidays.ics"
    file.write_text(ICAL)

    document = read("import", "Holidays", str(file), "--mode", "replace")

    assert days(document["calendar"]) == ["2027-12-25", "2027-12-26"]
    said = call("calendars", "import", "Holidays", str(file))
    assert "left out: line 12, Nothing: it takes no time" in said.err
    shown = call("calendars", "show", "Holidays")
    assert "left out: line 12, Nothing: it takes no time" in shown.out
    file.write_text("hello")
    broken = call("calendars", "import", "Holidays", str(file))
    assert (broken.code, "Line 1:" in broken.err) == (2, True)


def test_a_dry_run_of_an_import_shows_the_report_and_changes_nothing(alpha, tmp_path):
    calendar = make_calendar(alpha)
    file = tmp_path / "holidays.ics"
    file.write_bytes(ICAL.replace("Nothing", "Größe").encode("utf-16"))

    document = read("import", "Holidays", str(file), "--mode", "replace", "--dry-run")
    said = call("calendars", "import", "Holidays", str(file), "--dry-run")

    assert days(document["calendar"]) == ["2027-12-25", "2027-12-26"]
    assert "left out: line 12, Größe: it takes no time" in said.err
    assert "nothing was changed" in said.err
    calendar.refresh_from_db()
    assert (calendar.version, calendar.last_import) == (1, None)
