from __future__ import annotations

import pytest

from executions.models import WorkflowRun
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.workflows import (
    begin_run,
    begin_take,
    calls,
    edit_workflow,
    make_workflow,
    states,
    status_of,
    version_of,
    work,
)
from workflows.retry_requests import begin_wanted


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a"), calls("c", "b")])


def results(verb: str, said) -> list[dict]:
    assert said.code == 0, said.err
    found: list[dict] = read_document(f"workflows-{verb}", said.out)["results"]
    return found


def fail(*keys: str):
    return lambda key, item: "FAILED" if key in keys else "SUCCEEDED"


def test_a_run_is_cancelled_whole(task):
    run = begin_run(task)

    said = call("workflows", "cancel", str(run)[-12:], "--yes", "--json")

    [result] = results("cancel", said)
    assert (result["status"], result["reason"]) == ("RUNNING", "cancelled")
    assert result["workflow_id"] == str(task.id)
    assert WorkflowRun.objects.get(pk=run).phase == "cancelling"
    assert said.err.startswith("1 open: steps that run were asked to stop")


def test_a_step_and_all_behind_it_are_cancelled(task):
    run = begin_run(task)

    said = call("workflows", "cancel", str(run), "--scope", "downstream", "--key", "b", "--yes")

    assert said.code == 0, said.err
    assert states(run) == {"a": "OPEN", "b": "CANCELLED", "c": "CANCELLED"}


def test_only_what_has_not_begun_is_cancelled(task):
    run = begin_run(task)

    assert call("workflows", "cancel", str(run), "--scope", "not_started", "--yes").code == 0

    assert states(run)["a"] == "OPEN"


@pytest.mark.parametrize(
    "words", [("--scope", "downstream"), ("--key", "a"), ("--scope", "all", "--key", "a")]
)
def test_a_key_goes_with_the_scope_downstream_only(task, words):
    run = begin_run(task)

    said = call("workflows", "cancel", str(run), *words, "--yes")

    assert (said.code, "--key: " in said.err) == (2, True)


def test_cancelling_asks_first_and_can_be_tried(task, monkeypatch):
    run = begin_run(task)

    type_in(monkeypatch, "n\n")
    assert call("workflows", "cancel", str(run)).code == 1
    said = call("workflows", "cancel", str(run), "--dry-run", "--json")

    assert read_document("workflows-cancel", said.out)["dry_run"] is True
    assert WorkflowRun.objects.get(pk=run).phase == "running"


def test_a_paused_run_begins_no_step_until_it_is_resumed(task):
    run = begin_run(task)

    [paused] = results("pause", call("workflows", "pause", str(run), "--json"))
    work(run)
    between = states(run)
    [resumed] = results("resume", call("workflows", "resume", str(run), "--json"))

    assert (paused["reason"], resumed["reason"]) == ("paused", None)
    assert between == {"a": "SUCCEEDED", "b": "PENDING", "c": "PENDING"}
    assert states(run)["b"] == "OPEN"


def test_a_failed_run_is_retried_from_what_has_failed(task):
    run = begin_run(task)
    work(run, fail("b"))

    [result] = results("retry", call("workflows", "retry", str(run)[-12:], "--json"))
    begin_take(run)

    assert (result["take"], result["status"]) == (2, "PENDING")
    assert work(run) == ["b", "c"]
    assert status_of(run) == "SUCCEEDED"


def test_a_retry_takes_a_step_a_version_and_an_input(task):
    run = begin_run(task)
    work(run)
    steps = [calls("a"), calls("b", "a", priority=1), calls("c", "b")]
    edit_workflow(task, {"name": "Flow", "steps": steps})

    said = call(
        *("workflows", "retry", str(run), "--from", "b", "--version", "latest"),
        *("--input", '{"n": 1}', "--json"),
    )
    begin_take(run)

    assert results("retry", said)[0]["take"] == 2
    assert version_of(run) == 2
    assert work(run) == ["b", "c"]


def test_refusals_have_their_exit_codes(task, alpha, beta):
    run = begin_run(task)

    assert call("workflows", "retry", str(run)).code == 4
    assert call("workflows", "retry", str(run), "--input", "{").code == 2
    assert call("workflows", "pause", str(run), "--tenant", "Beta").code == 3
    work(run)
    for verb in ("pause", "resume", "retry"):
        said = call("workflows", verb, str(run))
        assert said.code == 4, verb
    assert call("workflows", "cancel", str(run), "--yes").code == 4
    assert call("workflows", "retry", str(run), "--from", "nothing").code == 2


def test_of_several_runs_each_is_changed_by_itself(task):
    ended = begin_run(task)
    work(ended)
    open_ = begin_run(task)

    said = call("workflows", "pause", str(open_), str(ended))

    assert said.code == 6
    assert f"✔ paused  {str(open_)[-12:]}  Flow" in said.out
    assert f"✘ {str(ended)[-12:]}  The run is SUCCEEDED already." in said.out
    assert said.err == "1 done, 1 failed\n"


def test_an_open_run_is_cancelled_first_if_asked(task, on_commit):
    run = begin_run(task)

    with on_commit(execute=True):
        said = call("workflows", "retry", str(run), "--cancel-running")
    begin_wanted([run])
    begin_take(run)

    assert said.code == 0, said.err
    assert WorkflowRun.objects.get(pk=run).take == 2
    assert work(run) == ["a", "b", "c"]
