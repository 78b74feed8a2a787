"""The calendar of the load, the minutes of an hour, and spreading what stands out."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from dashboard.views import forecast as view
from executions.loop.clocks import database_now
from executions.models import BulkJob
from shared.instants import format_instant
from tests.dashboard.asking import HOSTILE, audited, is_escaped, user_of
from tests.executions.bulk.bulk import run_job
from tests.factories import daily, make_task, once, reload


@pytest.fixture
def tasks(alpha):
    return [make_task(alpha, daily(name=f"Report {number}")) for number in range(6)]


@pytest.fixture
def editor(browser, alpha):
    return browser(alpha, role="admin")


def spread_form(editor, tasks, **changes):
    """Return what a browser would send from the confirmation."""
    at = format_instant(tasks[0].next_run_at)
    context = editor.get(f"/calendar/spread?at={quote(at)}").context
    fields = {
        "at": at,
        "expected_count": str(context["count"]),
        "jitter_seconds": str(context["found"].jitter_seconds),
        "form_key": "a-form",
        "next": f"/calendar/spread?at={quote(at)}",
    }
    return {**fields, **changes}


def test_the_week_is_shown_with_what_stands_out(browser, alpha, tasks):
    answer = browser(alpha, role="viewer").get("/calendar")

    assert answer.status_code == 200
    assert answer.context["starts"] == 42
    [spot] = answer.context["hot_spots"]
    assert (spot["tasks"], spot["repeats"]) == (6, 6)
    assert "and 6 more times" in answer.text
    assert "Spread…" not in answer.text


def test_an_hour_shows_its_minutes(editor, tasks):
    at = tasks[0].next_run_at

    answer = editor.get(f"/calendar?hour={quote(format_instant(at))}")

    assert [minute.count for minute in answer.context["minutes"]][at.minute] == 6
    assert f" to {at.hour + 1:02d}:00" in answer.text


def test_hours_are_those_of_the_visitors_zone(editor, alpha):
    at = (database_now() + timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)
    make_task(alpha, once(at))
    editor.cookies["punctual_zone"] = "Asia/Kathmandu"  # 5:45 ahead of UTC

    rows = editor.get("/calendar").context["rows"]

    [cell] = [cell for row in rows for cell in row.cells if cell.count]
    assert cell.hour == 17


def test_a_destination_can_be_chosen(editor, alpha, tasks):
    other = make_task(alpha, daily(target={"url": "https://other.example.com/run"}))

    answer = editor.get(f"/calendar?destination={other.destination}")

    assert answer.context["starts"] == 7
    assert tasks[0].destination in answer.context["destinations"]
    assert editor.get("/calendar?destination=nowhere:1").context["starts"] == 0


def test_without_tasks_it_says_what_belongs_here(editor):
    assert "Nothing starts in the next 7 days" in editor.get("/calendar").text


def test_a_partial_forecast_says_so(editor, tasks, monkeypatch):
    monkeypatch.setattr("insight.forecast.load.MOST_WALKED", 8)
    make_task(tasks[0].tenant, daily(schedule={"cron_expression": "0 9 * * *"}))

    answer = editor.get("/calendar")

    assert "6 of 7 tasks are counted" in answer.text


def test_days_on_which_the_clocks_change_are_told(editor, tasks, monkeypatch):
    monkeypatch.setattr(view, "_change_of", lambda day: "the clocks go back 60 minutes")

    answer = editor.get("/calendar")

    assert "the clocks go back 60 minutes" in answer.text


@pytest.mark.parametrize("query", ["hour=yesterday", "hour=%00", "destination=%00"])
def test_odd_queries_are_refused(editor, query):
    assert editor.get(f"/calendar?{query}").status_code == 400


@pytest.mark.parametrize("hour", ["2020-01-01T00:00:00Z", "9999-12-31T23:00:00Z"])
def test_an_hour_outside_of_the_forecast_shows_no_minutes(editor, tasks, hour):
    assert editor.get(f"/calendar?hour={hour}").context["minutes"] is None


def test_spreading_says_how_many_get_which_jitter(editor, tasks):
    at = quote(format_instant(tasks[0].next_run_at))

    answer = editor.get(f"/calendar/spread?at={at}")

    assert "Spread 6 tasks?" in answer.text
    assert 'value="300"' in answer.text


def test_one_click_makes_the_job(editor, alpha, tasks):
    answer = editor.post("/calendar/spread/create", spread_form(editor, tasks, jitter_seconds="90"))

    job = BulkJob.objects.get()
    assert answer.url == f"/bulk-jobs/{job.pk}"
    run_job(job)
    assert {reload(task).schedule["jitter_seconds"] for task in tasks} == {90}
    assert ("bulk_job.created", user_of(editor)) in audited(alpha)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expected_count": "5"}, "6 rows match now, not 5"),
        ({"jitter_seconds": "x"}, "Give seconds"),
        ({"jitter_seconds": "1e999"}, "Give seconds"),
        ({"jitter_seconds": "nan"}, "Give seconds"),
        ({"at": "x"}, "RFC 3339"),
        ({"at": "2020-01-01T00:00:00Z"}, "coming minute"),
    ],
)
def test_what_no_longer_holds_or_is_wrong_changes_nothing(editor, tasks, changes, said):
    answer = editor.post(
        "/calendar/spread/create", spread_form(editor, tasks, **changes), follow=True
    )

    assert said in answer.text
    assert not BulkJob.objects.exists()


def test_nothing_to_spread_is_said(editor, alpha):
    at = quote(format_instant(database_now() + timedelta(hours=2)))

    assert "Nothing to spread" in editor.get(f"/calendar/spread?at={at}").text
    assert editor.get("/calendar/spread?at=x").status_code == 400


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_spread(browser, alpha, tasks, role):
    client = browser(alpha, role=role)

    assert client.get("/calendar/spread?at=x").status_code == 403
    assert client.post("/calendar/spread/create", {}).status_code == 403


def test_other_tenants_tasks_are_not_seen(browser, beta, tasks):
    assert browser(beta).get("/calendar").context["starts"] == 0


def test_hostile_names_are_shown_as_text(editor, alpha):
    for _ in range(6):
        make_task(alpha, daily(name=HOSTILE))

    assert is_escaped(editor.get("/calendar"))
