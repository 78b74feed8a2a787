"""Commands that print payloads leave an audit entry of the account that ran them."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from operations.payload_readings import note_shown
from shared.actor import COMMAND
from tests.factories import daily, make_task, make_tenant
from tests.support.command_calls import call
from tests.support.workflows import begin_run, calls, make_workflow

pytestmark = pytest.mark.django_db


def entries():
    return list(AuditEntry.objects.filter(action="payload.read").order_by("sequence"))


def test_each_tenant_has_one_entry_in_its_own_chain():
    one, other = make_tenant("One"), make_tenant("Other")

    note_shown("task", [{"id": str(n), "tenant_id": str(t.id)} for t in (one, other) for n in "ab"])

    assert [(found.tenant_id, found.actor) for found in entries()] == [
        (one.id, COMMAND.name),
        (other.id, COMMAND.name),
    ]


def test_a_command_that_prints_no_payload_has_none():
    task = make_task(make_tenant(), daily())

    call("tasks", "list")
    call("tasks", "show", str(task.id))
    assert entries() == []
    call("tasks", "show", str(task.id), "--json")
    call("tasks", "export")

    [found] = entries()
    assert (found.object_kind, found.object_id) == ("task", str(task.id))


@pytest.mark.parametrize(
    "words",
    [
        "tasks clone {id} --json",
        "tasks edit {id} --priority 2 --json",
        "tasks edit {id} --payload null",
    ],
)
def test_a_change_that_prints_what_a_task_has_stored_has_an_entry(words):
    task = make_task(make_tenant(), daily(payload={"a": 1}))

    said = call(*words.format(id=task.id).split())

    assert said.code == 0, said
    assert [(found.object_kind, found.object_id) for found in entries()] == [("task", str(task.id))]


def test_a_change_that_prints_no_payload_has_none():
    task = make_task(make_tenant(), daily(payload={"a": 1}))

    assert call("tasks", "edit", str(task.id), "--priority", "2").code == 0

    assert entries() == []


@pytest.mark.parametrize(
    "words", ["workflows list --json", "workflows edit {id} --file {file} --json"]
)
def test_a_workflow_that_is_printed_has_an_entry(words, tmp_path):
    flow = make_workflow(make_tenant(), [calls("a", payload={"a": 1})])
    file = tmp_path / "edit.yaml"
    file.write_text("priority: 3\n")

    said = call(*words.format(id=flow.id, file=file).split())

    assert said.code == 0, said
    assert [(found.object_kind, found.object_id) for found in entries()] == [("task", str(flow.id))]


@pytest.mark.parametrize(
    "words", ["workflows approve {run} ok --take 1 --yes --json", "workflows run {id} --json"]
)
def test_a_run_that_is_printed_has_an_entry(words):
    flow = make_workflow(make_tenant(), [{"key": "ok", "kind": "approval"}])
    run = begin_run(flow, {"a": 1})

    said = call(*words.format(id=flow.id, run=run).split())

    assert said.code == 0, said
    assert [found.object_kind for found in entries()] == ["run"]
