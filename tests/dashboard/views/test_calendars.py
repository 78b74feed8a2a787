"""Calendars on the console: made, edited, imported and deleted, and by whom."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks.models import Calendar
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.factories import make_task
from tests.support.calendars import EASTER, ICAL, make_calendar, under

FORM = {
    "name": "Holidays",
    "description": "Ours",
    "weekend": ["6", "7"],
    "dates": "2027-01-01 New Year\r\n2027-01-06",
    "windows": "2027-02-06T22:00Z 2027-02-07T02:00Z Patching",
}


def test_the_list_shows_each_calendar_with_its_tasks(browser, alpha, beta):
    make_calendar(alpha)
    make_calendar(beta, "Another tenant's")
    make_task(alpha, under("Holidays"))

    answer = browser(alpha, role="viewer").get("/settings/calendars")

    assert answer.status_code == 200
    assert "Holidays" in answer.text
    assert "Another tenant" not in answer.text
    assert "New calendar" not in answer.text


def test_without_any_the_page_says_how_to_make_one(browser, alpha):
    assert "manage.py calendars create" in browser(alpha).get("/settings/calendars").text


def test_the_list_costs_the_same_for_many(browser, alpha):
    client = browser(alpha)
    make_calendar(alpha)
    few = queries_for(client, "/settings/calendars")
    for place in range(5):
        make_calendar(alpha, f"More {place}")
        make_task(alpha, under(f"More {place}"))

    assert queries_for(client, "/settings/calendars") == few


def test_a_calendar_is_made_by_hand(browser, alpha):
    client = browser(alpha)
    assert 'name="dates"' in client.get("/settings/calendars/new").text

    answer = client.post("/settings/calendars/new", FORM, follow=True)

    made = Calendar.objects.get()
    assert answer.redirect_chain == [(f"/settings/calendars/{made.id}", 302)]
    assert [one["date"] for one in made.dates] == ["2027-01-01", "2027-01-06"]
    assert made.windows[0]["name"] == "Patching"
    assert "New Year" in answer.text
    assert audited(alpha) == [("calendar.created", user_of(client))]


def test_a_form_with_mistakes_is_shown_again_as_it_was_typed(browser, alpha):
    answer = browser(alpha).post(
        "/settings/calendars/new", {**FORM, "dates": "2027-01-01\r\nsoon", "name": HOSTILE}
    )

    assert answer.status_code == 400
    assert "Line 2: Give a day as 2027-01-01." in answer.text
    assert "soon" in answer.text
    assert is_escaped(answer)
    assert not Calendar.objects.exists()


def test_a_name_that_is_taken_is_said(browser, alpha):
    make_calendar(alpha)

    assert "already" in browser(alpha).post("/settings/calendars/new", FORM).text


def test_an_edit_is_the_next_version(browser, alpha):
    calendar = make_calendar(alpha)
    client = browser(alpha)
    path = f"/settings/calendars/{calendar.id}/edit"
    assert EASTER[0] in client.get(path).text

    client.post(path, {**FORM, "dates": "2027-05-01", "version": "1"})

    calendar.refresh_from_db()
    assert ([one["date"] for one in calendar.dates], calendar.version) == (["2027-05-01"], 2)
    late = client.post(path, {**FORM, "dates": "", "version": "1"})
    assert "version 2" in late.text
    calendar.refresh_from_db()
    assert calendar.version == 2


def test_the_page_says_which_tasks_name_it(browser, alpha):
    calendar = make_calendar(alpha)
    make_task(alpha, {**under("Holidays"), "name": "Nightly report"})

    text = browser(alpha).get(f"/settings/calendars/{calendar.id}").text

    assert "Nightly report" in text
    assert "1 task names it" in text
    assert "Delete" not in text


@pytest.mark.parametrize("how", ["file", "text"])
def test_a_file_or_its_text_is_imported(browser, alpha, how):
    calendar = make_calendar(alpha)
    sent = {"file": SimpleUploadedFile("h.ics", ICAL.encode())} if how == "file" else {"ical": ICAL}

    message = said(
        browser(alpha), f"/settings/calendars/{calendar.id}/import", {**sent, "mode": "replace"}
    )

    assert message == "Read 2 dates and 1 window. Left out: 1."
    calendar.refresh_from_db()
    assert [one["date"] for one in calendar.dates] == ["2027-12-25", "2027-12-26"]


def test_the_page_shows_what_the_last_import_left_out(browser, alpha):
    calendar = make_calendar(alpha)
    client = browser(alpha)
    hostile = ICAL.replace("SUMMARY:Nothing", f"UID:{HOSTILE}\r\nSUMMARY:{HOSTILE}")

    client.post(f"/settings/calendars/{calendar.id}/import", {"ical": hostile})
    answer = client.get(f"/settings/calendars/{calendar.id}")

    assert "Last import" in answer.text
    assert "it takes no time" in answer.text
    assert is_escaped(answer)
    assert "it takes no time" in browser(alpha, role="viewer").get(answer.wsgi_request.path).text


def test_a_preview_shows_the_calendar_as_it_would_be_and_changes_nothing(browser, alpha):
    calendar = make_calendar(alpha)
    client = browser(alpha)
    fields = {"ical": ICAL, "mode": "replace", "preview": "1"}

    answer = client.post(f"/settings/calendars/{calendar.id}/import", fields)

    assert answer.status_code == 200
    assert "Nothing was changed." in answer.text
    assert "Read 2 dates and 1 window. Left out: 1." in answer.text
    assert "it takes no time" in answer.text
    assert "2027-12-26" in answer.text
    assert EASTER[0] not in answer.text
    assert "DTSTART;VALUE=DATE:20271225" in answer.text
    calendar.refresh_from_db()
    assert (calendar.version, calendar.last_import) == (1, None)


@pytest.mark.parametrize(
    ("fields", "part", "status"),
    [
        ({}, "Choose a file", 400),
        ({"ical": "hello <b>"}, "Line 1:", 400),
        ({"ical": ICAL, "mode": "x"}, "Choose what to do", 400),
        ({"file": SimpleUploadedFile("h.ics", b"\xff\xfe")}, "BEGIN:VCALENDAR", 400),
        ({"file": SimpleUploadedFile("h.ics", b"x" * (8 * 1024 * 1024 + 1))}, "larger", 413),
    ],
)
def test_an_import_that_cannot_be_is_said_and_changes_nothing(browser, alpha, fields, part, status):
    calendar = make_calendar(alpha)

    answer = browser(alpha).post(f"/settings/calendars/{calendar.id}/import", fields)

    assert answer.status_code == status
    assert part in answer.text
    # What was pasted is still there.
    assert ("hello &lt;b&gt;" in answer.text) == ("hello <b>" in str(fields.get("ical")))
    calendar.refresh_from_db()
    assert calendar.version == 1


def test_a_calendar_that_no_task_names_is_deleted(browser, alpha):
    calendar = make_calendar(alpha)
    task = make_task(alpha, under("Holidays"))
    client = browser(alpha)
    path = f"/settings/calendars/{calendar.id}/delete"

    assert "1 task names" in said(client, path)
    task.delete()
    assert said(client, path) == "Deleted."
    assert not Calendar.objects.exists()


def test_viewers_and_operators_look_only(browser, alpha):
    calendar = make_calendar(alpha)
    for role in ("viewer", "operator"):
        client = browser(alpha, role=role)
        page = f"/settings/calendars/{calendar.id}"
        assert "Import" not in client.get(page).text
        assert client.get("/settings/calendars/new").status_code == 403
        assert client.get(f"{page}/edit").status_code == 403
        for verb in ("edit", "import", "delete"):
            assert client.post(f"{page}/{verb}", FORM).status_code == 403
    assert Calendar.objects.get().version == 1


def test_another_tenants_calendar_is_404(browser, alpha, beta):
    calendar = make_calendar(beta)
    client = browser(alpha)

    for path in (f"/settings/calendars/{calendar.id}", f"/settings/calendars/{uuid4()}/edit"):
        assert client.get(path).status_code == 404
