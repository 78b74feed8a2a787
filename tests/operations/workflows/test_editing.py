from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from executions.models import WorkflowRun
from tasks.models import Task
from tasks.revisions import read_definition
from tests.factories import reload
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.workflows import begin_run, calls, make_workflow

YAML = """
name: Nightly load
schedule: {cron_expression: "0 2 * * *", timezone: Europe/Berlin}
deadline_at: 16:00
on_failure: compensate
steps:
  - key: load
    target: {url: https://api.example.com/load}
    compensate:
      target: {url: https://api.example.com/unload}
      on: [SUCCEEDED, TIMED_OUT]
  - key: tell
    depends_on: [load]
    condition: all_done
    target: {url: https://api.example.com/tell}
"""


def written(folder: Path, content: Any) -> str:
    is_text = isinstance(content, str)
    path = folder / ("flow.yaml" if is_text else "flow.json")
    path.write_text(content if is_text else json.dumps(content))
    return str(path)


def flow(*steps: Any, **parts: Any) -> dict[str, Any]:
    return {"name": "Flow", "steps": list(steps or [calls("a"), calls("b", "a")]), **parts}


def test_a_workflow_is_created_from_yaml(alpha, tmp_path):
    said = call("workflows", "create", "--file", written(tmp_path, YAML))

    task = Task.objects.get()
    assert said.code == 0, said.err
    assert f"created {task.id}  Nightly load, 2 steps" in said.out
    assert said.out.count("\n  next ") == 3
    assert f"manage.py workflows run {str(task.id)[-12:]}" in said.err
    target = read_definition(task).target
    assert target["deadline_at"] == "16:00"
    assert target["steps"][0]["compensate"]["on"] == ["SUCCEEDED", "TIMED_OUT"]


def test_the_document_shows_what_was_created(alpha, tmp_path):
    said = call("workflows", "create", "--file", written(tmp_path, flow()), "--json")

    document = read_document("workflows-create", said.out)
    assert document["workflow"]["id"] == str(Task.objects.get().id)
    assert (document["dry_run"], document["workflow"]["tenant_id"]) == (False, str(alpha.id))


def test_a_dry_run_checks_and_creates_nothing(alpha, tmp_path):
    path = written(tmp_path, flow())

    said = call("workflows", "create", "--file", path, "--dry-run", "--json")

    document = read_document("workflows-create", said.out)
    assert (document["dry_run"], document["workflow"]["id"]) == (True, None)
    assert (
        "would create  Flow, 2 steps"
        in call(*("workflows", "create", "--file", path, "--dry-run")).out
    )
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (flow(calls("a", "b"), calls("b", "a")), 2, "steps.0.depends_on: The steps wait for each"),
        (flow(calls("a"), calls("b", "c")), 2, "steps.1.depends_on.0: There is no step 'c'."),
        (flow(calls("a", when="steps.")), 2, "steps.0.when: This is not an expression"),
        (flow(calls("a"), nmae=1), 2, "nmae: "),
        ({"steps": []}, 2, "name: "),
        ("- a\n", 2, "object"),
        ("a: [1\n", 2, "This is not YAML"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(alpha, tmp_path, content, code, said):
    found = call("workflows", "create", "--file", written(tmp_path, content))

    assert (found.code, said in found.err) == (code, True), found.err
    assert not Task.objects.exists()


def test_the_tenant_is_named_where_there_are_several(alpha, beta, tmp_path):
    words = ("workflows", "create", "--file", written(tmp_path, flow()))

    assert call(*words).code == 2
    assert call(*words, "--tenant", "Gamma").code == 3
    assert call(*words, "--tenant", "Beta").code == 0
    assert Task.objects.get().tenant_id == beta.id
    assert call("workflows", "create", "--file", "nowhere.yaml").code == 3


def test_an_edit_shows_each_step_that_differs(alpha, tmp_path):
    task = make_workflow(alpha, [calls("a"), calls("b", "a")])
    steps = [calls("a"), calls("b", "a", condition="all_done")]

    said = call(
        *("workflows", "edit", str(task.id)[-12:], "--json"),
        *("--file", written(tmp_path, {"steps": steps, "name": "Renamed"})),
    )

    document = read_document("workflows-edit", said.out)
    assert [change["path"] for change in document["changes"]] == ["name", "steps.b.condition"]
    assert (document["workflow"]["version"], reload(task).name) == (2, "Renamed")


def test_a_dry_run_of_an_edit_changes_nothing(alpha, tmp_path):
    task = make_workflow(alpha, [calls("a")])
    path = written(tmp_path, {"on_failure": "continue"})

    said = call("workflows", "edit", str(task.id), "--file", path, "--dry-run")

    assert said.out == "on_failure: fail_fast → continue\n"
    assert "nothing was changed" in said.err
    assert reload(task).version == 1


def test_an_open_run_keeps_its_version(alpha, tmp_path):
    task = make_workflow(alpha, [calls("a")])
    run = begin_run(task)

    said = call("workflows", "edit", str(task.id), "--file", written(tmp_path, flow()))

    assert said.err == "The workflow is at version 2; open runs keep theirs.\n"
    assert WorkflowRun.objects.get(pk=run).version == 1


def test_what_show_prints_is_an_edit_that_changes_nothing(alpha, tmp_path):
    target = {"url": "https://x.example.com", "auth": {"type": "bearer", "token": "s3cret"}}
    task = make_workflow(alpha, [calls("a", target=target)])
    shown = json.loads(call("workflows", "show", str(task.id), "--json").out)

    said = call("workflows", "edit", str(task.id), "--file", written(tmp_path, shown))

    assert (said.code, said.out) == (0, "no change\n")
    assert read_definition(reload(task)).target["steps"][0]["target"]["auth"]["token"] == "s3cret"


@pytest.mark.parametrize(
    ("content", "words", "code"),
    [
        ({}, (), 2),
        ({"on_failure": "stop"}, (), 2),
        ({"steps": [calls("a", "b")]}, ("--dry-run",), 2),
        ({"name": "x"}, ("--version", "7"), 4),
        ({"name": "x"}, ("--version", "7", "--dry-run"), 4),
        ({"name": "x"}, ("--tenant", "Beta"), 3),
    ],
)
def test_an_edit_that_is_refused_has_its_exit_code(alpha, beta, tmp_path, content, words, code):
    task = make_workflow(alpha, [calls("a")])

    said = call("workflows", "edit", str(task.id), "--file", written(tmp_path, content), *words)

    assert said.code == code, said.err
    assert reload(task).version == 1


def test_a_deleted_workflow_leaves_the_list_and_its_runs_stay(alpha):
    task = make_workflow(alpha, [calls("a")])
    run = begin_run(task)

    said = call("workflows", "delete", str(task.id), "--cancel-running", "--yes", "--json")

    [result] = read_document("workflows-delete", said.out)["results"]
    assert (result["name"], result["status"]) == ("Flow", "DELETED")
    assert call("workflows", "show", str(task.id)).code == 3
    assert call("workflows", "status", str(run)).code == 0


def test_a_deletion_asks_first_and_can_be_tried(alpha, monkeypatch):
    task = make_workflow(alpha, [calls("a")])

    dry = call("workflows", "delete", str(task.id), "--dry-run", "--json")
    type_in(monkeypatch, "n\n")
    assert call("workflows", "delete", str(task.id)).code == 1
    type_in(monkeypatch, "y\n", terminal=False)
    assert call("workflows", "delete", str(task.id)).code == 2

    assert read_document("workflows-delete", dry.out)["dry_run"] is True
    assert reload(task).deleted_at is None
