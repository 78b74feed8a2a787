"""Tasks that wait for others, in the console."""

from __future__ import annotations

import pytest

from tasks.models import Task
from tasks.revisions import read_definition
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import make_task, once
from tests.support.forms import form_at
from tests.support.waiting_tasks import end, make_waiting, starts

URL = "https://api.example.com/reports"
UNKNOWN = "0199b6f0-0000-7000-8000-000000000009"


@pytest.fixture
def editor(browser, alpha):
    return browser(alpha, role="admin")


@pytest.fixture
def first(alpha):
    return make_task(alpha, once(name="Load"))


def test_the_page_names_what_is_waited_for_until_it_has_succeeded(browser, alpha, first):
    task = make_waiting(alpha, [first])

    shown = browser(alpha).get(f"/tasks/{task.pk}").text
    assert "It waits for 1 task to succeed" in shown
    assert f'<a href="/tasks/{first.pk}">Load</a> (scheduled)' in shown
    assert "it is skipped" in shown

    end(first)
    starts(task)
    shown = browser(alpha).get(f"/tasks/{task.pk}").text
    assert "It waits for" not in shown
    assert "<dt>Depends on</dt>" in shown


@pytest.mark.parametrize(("policy", "said"), [("fail", "it fails"), ("wait", "waits for a retry")])
def test_the_page_says_what_follows_a_failure(browser, alpha, first, policy, said):
    task = make_waiting(alpha, [first], on_dependency_failure=policy)

    assert said in browser(alpha).get(f"/tasks/{task.pk}").text


def test_of_many_the_page_names_five(browser, alpha):
    tasks = [make_task(alpha, once(name=f"T{number}")) for number in range(7)]
    task = make_waiting(alpha, tasks)

    assert "and 2 more." in browser(alpha).get(f"/tasks/{task.pk}").text


def test_names_are_escaped(browser, alpha):
    task = make_waiting(alpha, [make_task(alpha, once(name=HOSTILE))])

    assert is_escaped(browser(alpha).get(f"/tasks/{task.pk}"))


def test_the_form_makes_a_task_that_waits(editor, first):
    fields = form_at(
        editor,
        "/tasks/new",
        url=URL,
        when="after",
        delay_seconds="0",
        depends_on=f" {first.pk}\r\n",
        on_dependency_failure="fail",
    )

    assert editor.post("/tasks/new", fields).status_code == 302

    made = read_definition(Task.objects.exclude(pk=first.pk).get())
    assert (made.depends_on, made.on_dependency_failure) == ([str(first.pk)], "fail")


def test_an_unknown_task_is_told_at_its_field(editor):
    fields = form_at(
        editor, "/tasks/new", url=URL, when="after", delay_seconds="0", depends_on=UNKNOWN
    )

    answer = editor.post("/tasks/new", fields)

    assert answer.status_code == 400
    assert answer.context["errors"] == {"depends_on": "There is no such task."}
    assert "dependencies" in answer.context["open_parts"]


def test_an_edit_keeps_what_a_task_waits_for_or_takes_it_away(editor, alpha, first):
    task = make_waiting(alpha, [first], on_dependency_failure="wait")
    path = f"/tasks/{task.pk}/edit"

    editor.post(path, form_at(editor, path, name="Other"))
    kept = read_definition(Task.objects.get(pk=task.pk))
    assert (kept.name, kept.depends_on) == ("Other", [str(first.pk)])
    assert kept.on_dependency_failure == "wait"

    editor.post(path, form_at(editor, path, depends_on=""))
    assert read_definition(Task.objects.get(pk=task.pk)).depends_on == []
    assert starts(task) == ["PENDING"]


def test_a_task_that_becomes_recurring_waits_no_longer(editor, alpha, first):
    task = make_waiting(alpha, [first])
    path = f"/tasks/{task.pk}/edit"

    answer = editor.post(path, form_at(editor, path, when="cron", cron_expression="0 8 * * *"))

    assert answer.status_code == 302
    changed = read_definition(Task.objects.get(pk=task.pk))
    assert (changed.type, changed.depends_on) == ("RECURRING", [])
