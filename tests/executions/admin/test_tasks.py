from __future__ import annotations

import pytest
from django.contrib import admin

from events.models import AuditEntry
from executions.admin.tasks import TaskAdmin
from executions.changes import changing
from executions.models import Execution
from tasks.models import Task
from tasks.transitions import Pause
from tests.factories import ACTOR, daily, every_second, make_task, prepare, reload
from tests.support.admin import said, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tasks(alpha, beta) -> list[Task]:
    return [
        make_task(alpha, daily(name="Nightly")),
        make_task(beta, daily(name="Weekly")),
        make_task(alpha, daily(name="Hourly")),
    ]


def statuses(tasks):
    return [Task.objects.get(pk=task.pk).status for task in tasks]


def test_tasks_of_every_tenant_are_paused_and_resumed_at_once(browser, tasks):
    browser.act(Task, "pause", tasks[:1])

    paused = browser.act(Task, "pause", tasks)
    assert said(paused) == "2 paused, 1 skipped (already paused), 0 failed."
    assert statuses(tasks) == ["PAUSED"] * 3

    resumed = browser.act(Task, "resume", tasks[1:])
    assert said(resumed) == "2 resumed, 0 skipped, 0 failed."
    assert statuses(tasks) == ["PAUSED", "SCHEDULED", "SCHEDULED"]
    entry = AuditEntry.objects.get(object_id=str(tasks[1].pk), action="task.paused")
    assert (entry.actor, entry.address) == (f"user:{browser.user.pk}", "127.0.0.1")
    assert entry.trace_id


def test_running_now_asks_first_and_names_what_it_runs(browser, tasks):
    asked = browser.act(Task, "run", tasks)

    words = text_of(asked)
    assert "3 tasks:" in words
    assert "Nightly (scheduled)" in words
    assert not Execution.objects.exists()

    done = browser.confirm(Task, "run", tasks)
    assert said(done) == "3 started, 0 skipped, 0 failed."
    assert Execution.objects.filter(trigger="manual").count() == 3


def test_only_the_first_five_are_named(browser, alpha):
    many = [make_task(alpha, daily(name=f"Task {number}")) for number in range(8)]

    words = text_of(browser.act(Task, "cancel", many))

    assert "8 tasks:" in words
    assert "Task 3 (scheduled)" in words
    assert "Task 2 (scheduled)" not in words
    assert "and 3 more" in words


def test_cancelling_takes_back_what_was_prepared(browser, alpha):
    task = make_task(alpha, every_second())
    prepare()
    assert Execution.objects.filter(task=task, status="PENDING").exists()

    browser.act(Task, "cancel", [task])
    assert statuses([task]) == ["SCHEDULED"]
    done = browser.confirm(Task, "cancel", [task])

    assert said(done) == "1 cancelled, 0 skipped, 0 failed."
    assert not Execution.objects.filter(task=task, status="PENDING").exists()


def test_a_deleted_task_fails_alone(browser, tasks):
    from executions.changes.changing import delete_task

    delete_task(tasks[0].tenant_id, tasks[0].pk, actor=ACTOR)

    done = browser.confirm(Task, "run", tasks)

    assert said(done) == "2 started, 0 skipped, 1 failed (there is no such task)."


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"status": "PAUSED"}, ["Nightly"]),
        ({"status": "DELETED"}, ["Hourly"]),
        ({"status": "SCHEDULED"}, ["Weekly"]),
        ({"type": "ONE_TIME"}, []),
        ({"q": "week"}, ["Weekly"]),
    ],
)
def test_lists_are_filtered_and_searched(browser, tasks, query, names):
    from executions.changes.changing import delete_task

    browser.act(Task, "pause", tasks[:1])
    delete_task(tasks[2].tenant_id, tasks[2].pk, actor=ACTOR)

    shown = browser.list(Task, **query).context["cl"].result_list

    assert [task.name for task in shown] == names


def test_a_paused_task_has_no_next_run(browser, alpha):
    running, paused = make_task(alpha), make_task(alpha)
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    shown = TaskAdmin(Task, admin.site)

    assert shown.next_run(reload(running)) == running.next_run_at
    assert shown.next_run(reload(paused)) is None
    assert browser.list(Task).status_code == 200
