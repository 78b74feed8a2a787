"""The form of a task whose schedule is said in plain words."""

from __future__ import annotations

import re

import pytest

from tasks.models import Task
from tests.factories import daily, make_task, reload
from tests.support.forms import form_at

URL = "https://api.example.com/reports"


@pytest.fixture
def editor(browser, alpha):
    return browser(alpha, role="admin")


def test_plain_words_become_the_schedule_that_is_saved(editor):
    words = {"when": "words", "words": "first day of the month at 6", "timezone": "Europe/Berlin"}

    editor.post("/tasks/new", form_at(editor, "/tasks/new", url=URL, **words))

    schedule = Task.objects.get().schedule
    assert (schedule["cron_expression"], schedule["timezone"]) == ("0 6 1 * *", "Europe/Berlin")


@pytest.mark.parametrize("words", ["every morning", "", "every 30 february at 6"])
def test_words_that_make_no_schedule_stay_with_the_reason_at_their_box(editor, words):
    fields = form_at(editor, "/tasks/new", url=URL, when="words", words=words)

    answer = editor.post("/tasks/new", fields)

    assert set(answer.context["errors"]) == {"words"}
    assert f'value="{words}"' in answer.text
    assert '<a href="#words">When it runs: ' in answer.text


def test_an_unknown_zone_is_the_only_error_of_its_words(editor):
    fields = form_at(editor, "/tasks/new", url=URL, when="words", words="every day at 9")

    answer = editor.post("/tasks/new", fields | {"timezone": "Mars/Olympus"})

    assert set(answer.context["errors"]) == {"timezone"}


def test_words_that_mean_another_time_than_was_shown_are_not_saved_unseen(editor):
    said = "1 january 2190 9:00"
    words = {"when": "words", "words": said, "url": URL}
    preview = editor.post("/tasks/preview", {**words, "words_shown": f"2190-01-01 {said}"})
    [shown] = re.findall(r'name="words_shown" value="([^"]+)"', preview.text)
    fields = form_at(editor, "/tasks/new", **words)

    late = editor.post("/tasks/new", fields | {"words_shown": f"2189-01-01T09:00:00.000Z {said}"})
    editor.post("/tasks/new", fields | {"words_shown": shown, "form_key": "another-form"})

    assert "another time than was shown" in late.context["errors"]["words"]
    assert shown == f"{Task.objects.get().schedule['run_at']} {said}"


def test_an_edit_in_words_may_turn_a_recurring_task_into_one_that_runs_once(editor, alpha):
    task = make_task(alpha, daily(target={"url": URL}))
    path = f"/tasks/{task.pk}/edit"

    editor.post(path, form_at(editor, path, when="words", words="in 2 hours"))

    changed = reload(task)
    assert (changed.version, changed.type) == (2, "ONE_TIME")
    assert changed.schedule["run_at"]
