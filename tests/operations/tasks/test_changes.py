from __future__ import annotations

import pytest

from events.models import AuditEntry
from shared.actor import COMMAND
from tasks.models import Task
from tests.factories import daily, make_execution, make_task, reload
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

NOWHERE = "00000000-0000-0000-0000-000000000000"


def test_several_tasks_are_paused_with_a_note_and_an_end(alpha):
    tasks = [make_task(alpha, daily(name=name)) for name in ("a", "b")]

    said = call(
        *("tasks", "pause", *(str(task.id) for task in tasks), "--json"),
        *("--note", "receiver is down", "--until", "2h", "--on-resume", "run_once"),
    )

    document = read_document("tasks-pause", said.out)
    assert (said.code, document["done"], document["failed"]) == (0, 2, 0)
    for task in tasks:
        stored = reload(task)
        assert (stored.status, stored.pause_note) == ("PAUSED", "receiver is down")
        assert (stored.on_resume, stored.paused_until is None) == ("run_once", False)
    assert set(AuditEntry.objects.values_list("actor", flat=True)) >= {COMMAND.name}


def test_paused_tasks_are_resumed(alpha):
    task = make_task(alpha)
    call("tasks", "pause", str(task.id))

    said = call("tasks", "resume", str(task.id)[-12:], "--json")

    assert read_document("tasks-resume", said.out)["results"][0]["status"] == "SCHEDULED"
    assert reload(task).status == "SCHEDULED"


@pytest.mark.parametrize("until", ["2020-01-01T00:00:00Z", "yesterday", "0s"])
def test_a_pause_ends_in_the_future(alpha, until):
    task = make_task(alpha)

    assert call("tasks", "pause", str(task.id), "--until", until).code == 2
    assert call("tasks", "pause", str(task.id), "--note", "x" * 1001).code == 2
    assert reload(task).status == "SCHEDULED"


@pytest.mark.parametrize(("verb", "status"), [("cancel", "CANCELLED"), ("delete", "CANCELLED")])
def test_a_dangerous_verb_asks_on_a_terminal(alpha, monkeypatch, verb, status):
    task = make_task(alpha)

    type_in(monkeypatch, "n\n")
    assert call("tasks", verb, str(task.id)).code == 1
    assert reload(task).status == "SCHEDULED"
    type_in(monkeypatch, "y\n")
    assert call("tasks", verb, str(task.id)).code == 0
    assert reload(task).status == status


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_without_a_terminal_a_dangerous_verb_needs_yes(alpha, monkeypatch, verb):
    task = make_task(alpha)
    type_in(monkeypatch, "y\n", terminal=False)

    assert call("tasks", verb, str(task.id)).code == 2
    assert reload(task).status == "SCHEDULED"
    said = call("tasks", verb, str(task.id), "--yes", "--json")
    assert read_document(f"tasks-{verb}", said.out)["done"] == 1


def test_a_deleted_task_can_take_what_runs_with_it(alpha):
    execution = make_execution(alpha, "RUNNING")

    assert call("tasks", "delete", str(execution.task_id), "--cancel-running", "--yes").code == 0

    execution.refresh_from_db()
    assert execution.cancel_requested_at is not None
    assert Task.objects.get(pk=execution.task_id).deleted_at is not None


def test_a_dry_run_shows_which_tasks_and_changes_none(alpha):
    task = make_task(alpha, daily(name="Invoices"))

    said = call("tasks", "delete", str(task.id), "--dry-run")

    assert (said.code, said.out) == (0, f"✔ would be deleted  {str(task.id)[-12:]}  Invoices\n")
    assert reload(task).deleted_at is None


def test_what_is_missing_leaves_the_others_done_and_exits_with_6(alpha):
    task = make_task(alpha)

    said = call("tasks", "pause", str(task.id), NOWHERE)

    assert (said.code, reload(task).status) == (6, "PAUSED")
    assert f"✘ {NOWHERE[-12:]}  There is no task" in said.out
    assert said.err == "1 done, 1 failed\n"


def test_exit_codes_say_why_nothing_was_done(alpha, beta):
    done = make_execution(alpha, "SUCCEEDED").task_id

    assert call("tasks", "pause", NOWHERE).code == 3
    assert call("tasks", "pause", NOWHERE, "0" * 12).code == 3
    assert call("tasks", "pause", str(done)).code == 4
    assert call("tasks", "resume", str(done)).code == 4
    assert call("tasks", "cancel", str(done), "--yes").code == 4
    assert call("tasks", "pause", str(make_task(alpha).id), "--tenant", "Beta").code == 3
