from __future__ import annotations

from tasks.models import Task
from tests.factories import make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document


def test_a_task_is_cloned_with_the_options_of_an_edit(alpha):
    task = make_task(alpha)

    said = call(
        *("tasks", "clone", str(task.id)[-12:], "--name", "Staging", "--every", "15m", "--json")
    )

    document = read_document("tasks-clone", said.out)
    made = Task.objects.exclude(pk=task.id).get()
    assert (said.code, document["source_id"], document["task"]["id"]) == (
        0,
        str(task.id),
        str(made.id),
    )
    assert (made.name, made.schedule["every"], made.tenant_id) == ("Staging", "PT15M", alpha.id)


def test_a_dry_run_judges_and_creates_nothing(alpha):
    task = make_task(alpha)

    said = call("tasks", "clone", str(task.id), "--dry-run", "--json")

    assert read_document("tasks-clone", said.out)["task"]["id"] is None
    assert "Daily report (copy)" in call("tasks", "clone", str(task.id), "--dry-run").out
    assert call("tasks", "clone", str(task.id), "--cron", "61 * * * *").code == 2
    assert call("tasks", "clone", "00000000-0000-0000-0000-000000000000").code == 3
    assert Task.objects.count() == 1


def test_a_created_clone_is_named_with_its_first_fires(alpha):
    task = make_task(alpha)

    said = call("tasks", "clone", str(task.id))

    assert said.out.startswith("created ")
    assert said.out.count("\n  next ") == 3
    assert "manage.py tasks run" in said.err
