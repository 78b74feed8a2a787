"""The live preview beside the form: words, next fires, and what an edit would change."""

from __future__ import annotations

from datetime import date

import pytest

from executions.loop.clocks import database_now
from tasks.models import Calendar
from tests.dashboard.asking import HOSTILE
from tests.factories import daily, make_task, reload

PATH = "/tasks/preview"


@pytest.fixture
def editor(browser, alpha):
    return browser(alpha, role="admin")


def edited(editor, task, **changes):
    """Return the preview's answer to the form of the task with some fields changed."""
    context = editor.get(f"/tasks/{task.pk}/edit").context
    fields = {name: value for name, value in context["fields"].items() if value is not None}
    fields |= {"version": str(context["version"]), "base_of": str(task.pk), **changes}
    return editor.post(PATH, fields)


def test_a_new_schedule_is_said_with_its_next_ten(editor):
    answer = editor.post(PATH, {"when": "cron", "cron_expression": "*/5 * * * *"})

    assert "Every 5 minutes" in answer.text
    assert len(answer.context["fires"]) == 10
    assert answer.context["per_day"] == "288"
    assert "kept" not in answer.text


def test_plain_words_are_said_back_with_what_is_saved(editor):
    fields = {"when": "words", "words": "every weekday at 9", "timezone": "Europe/Berlin"}

    answer = editor.post(PATH, fields)

    assert "At 09:00, Monday through Friday, Europe/Berlin" in answer.text
    assert "<code>0 9 * * 1-5</code>" in answer.text
    assert "is not understood" in editor.post(PATH, {**fields, "words": "every morning"}).text
    assert "appear here" in editor.post(PATH, {**fields, "words": " "}).text


def test_the_choice_for_changed_clocks_shows_of_a_new_and_an_edited_task(editor, alpha):
    fields = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    task = make_task(alpha, daily(schedule=fields))

    new = editor.post(PATH, {**fields, "when": "cron", "dst_gap": "skip"})

    assert "The run of that time is left out." in new.text
    assert "starts at 03:00 CEST instead" in edited(editor, task).text
    assert "is left out" in edited(editor, task, dst_gap="skip").text


def test_an_empty_form_is_asked_for_nothing_yet(editor):
    answer = editor.post(PATH, {"when": "cron", "cron_expression": " "})

    assert "appear here" in answer.text
    assert "error-text" not in answer.text


def test_an_edit_shows_what_stays_comes_and_goes(editor, alpha):
    task = make_task(alpha, daily(schedule={"cron_expression": "0 */2 * * *"}))

    answer = edited(editor, task, cron_expression="0 */3 * * *")

    shown = answer.context
    assert (shown["kept"] + shown["added"], shown["kept"] > 0) == (100, True)
    assert shown["removed"] > 0
    assert (shown["per_day_before"], shown["per_day"]) == ("12", "8")
    assert "12 → 8 runs a day" in answer.text
    assert shown["text_before"] in answer.text
    assert reload(task).version == 1


def test_an_edit_of_something_else_changes_no_instant(editor, alpha):
    task = make_task(alpha)

    answer = edited(editor, task, name="Other", url="not an address")

    assert "No instant changes." in answer.text


def test_the_load_of_the_new_minutes_is_told(editor, alpha):
    task = make_task(alpha)
    for _ in range(3):
        make_task(alpha, daily(schedule={"cron_expression": "0 9 * * *"}))

    answer = edited(editor, task, cron_expression="0 9 * * *", timezone="UTC")

    assert "3 other starts of this tenant are expected" in answer.text


def _every_28th() -> list[dict[str, str]]:
    year = database_now().year
    days = [date(year + ahead, month, 28) for ahead in (0, 1) for month in range(1, 13)]
    return [{"date": day.isoformat(), "name": ""} for day in days]


def test_notes_are_said_in_words(editor, alpha):
    Calendar.objects.create(tenant=alpha, name="Holidays", weekend=[6, 7], dates=_every_28th())
    fields = {"when": "cron", "cron_expression": "0 12 28 * *", "calendars": ["Holidays"]}

    answer = editor.post(PATH, {**fields, "calendar_policy": "next_business_day"})

    assert "a calendar moved it" in answer.text
    unknown = editor.post(PATH, {**fields, "calendars": ["Nothing"]})
    assert "There is no such calendar." in unknown.text


def test_a_kind_that_changes_is_compared_too(editor, alpha):
    task = make_task(alpha)

    answer = edited(editor, task, when="at", run_at="2199-01-01T09:17")

    assert (answer.context["added"], answer.context["per_day"]) == (1, "")


def test_another_tenants_task_is_not_compared(editor, beta):
    fields = {"when": "cron", "cron_expression": "0 8 * * *", "version": "1"}

    assert editor.post(PATH, {**fields, "base_of": str(make_task(beta).pk)}).status_code == 404
    assert editor.post(PATH, {**fields, "base_of": "x"}).status_code == 200


def test_hostile_text_is_shown_as_text(editor):
    answer = editor.post(PATH, {"when": "cron", "cron_expression": HOSTILE, "timezone": HOSTILE})

    assert answer.status_code == 200
    assert HOSTILE not in answer.text
