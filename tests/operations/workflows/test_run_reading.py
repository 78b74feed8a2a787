from __future__ import annotations

from typing import Any

import pytest

from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.workflow_steps import run_step
from tests.support.workflows import begin_run, calls, make_workflow, work


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a")])


def fails(key: str, item: int) -> str:
    return "FAILED"


def test_runs_are_listed_newest_first_with_how_many_steps_did_what(task):
    first, second = begin_run(task), begin_run(task)
    work(first, fails)

    said = call("workflows", "runs", str(task.id)[-12:], "--json")

    found = read_document("workflows-runs", said.out)
    assert [run["id"] for run in found["runs"]] == [str(second), str(first)]
    assert found["runs"][1]["counts"] == {"FAILED": 1, "SKIPPED": 1}
    assert (found["more"], found["since"]) == (False, None)
    table = call("workflows", "runs", str(task.id)).out
    assert "step_failed  1 FAILED, 1 SKIPPED" in table


def test_runs_are_filtered_by_state_and_time_and_bounded(task):
    for _ in range(3):
        begin_run(task)

    assert "3" not in call("workflows", "runs", str(task.id), "--status", "FAILED").out
    assert read_document(
        "workflows-runs",
        call("workflows", "runs", str(task.id), "--since", "1h", "--limit", "2", "--json").out,
    )["more"]
    said = call("workflows", "runs", str(task.id), "--limit", "2", "--wide")
    assert said.err == "the newest 2; see more with --limit\n"
    assert call("workflows", "runs", str(task.id), "--since", "soon").code == 2


def test_status_of_a_workflow_is_its_latest_run_with_every_step(task):
    begin_run(task)
    run = begin_run(task)

    said = call("workflows", "status", str(task.id))

    assert f"run       {run}" in said.out
    assert "workflow  Flow, version 1" in said.out
    lines = [line.split() for line in said.out.splitlines()]
    assert ["b", "PENDING", "-", "-", "-"] in lines
    found = read_document(
        "workflows-status", call("workflows", "status", str(task.id), "--json").out
    )
    assert [step["status"] for step in found["steps"]] == ["QUEUED", "PENDING"]


def test_status_takes_the_id_of_a_run_too(task):
    first = begin_run(task)
    begin_run(task)
    work(first, fails)

    said = call("workflows", "status", str(first)[-12:])

    assert "reason    step_failed" in said.out
    assert "http_status: The answer was 500." in said.out


def test_what_a_step_waits_for_is_said(alpha):
    flow: list[dict[str, Any]] = [
        {"key": "ok", "kind": "approval", "timeout_seconds": 3600},
        {"key": "e", "kind": "wait_for_event", "event": "paid", "correlation": "order-17"},
        {"key": "d", "kind": "delay", "delay_seconds": 60},
        calls("load", for_each=[1, 2, 3], max_parallel=2),
    ]
    task = make_workflow(alpha, flow)
    begin_run(task)

    said = call("workflows", "status", str(task.id)).out

    assert "waiting   ok, e, d, load 0/3" in said
    assert "deadline  " in said
    assert "waits for approval of take 1" in said
    assert "waits for event paid order-17" in said
    assert "waits for delay until" in said
    assert "2 QUEUED, 1 PENDING" in said


@pytest.mark.parametrize(
    ("status", "words"),
    [("SUCCEEDED", "undone"), ("FAILED", "not undone: "), (None, "is being undone")],
)
def test_how_far_a_step_is_undone_is_said(alpha, status, words):
    undo = {"target": {"url": "https://api.example.com/undo"}}
    flow = [calls("a", compensate=undo), calls("b", "a")]
    run = begin_run(make_workflow(alpha, flow, on_failure="compensate"))
    run_step(run, "a")
    run_step(run, "b", "FAILED")
    if status:
        work(run, lambda key, item: status)

    said = call("workflows", "status", str(run)).out.splitlines()

    [line] = [line for line in said if line.startswith("a ")]
    assert words in line


def test_the_items_of_a_fan_out_are_listed_on_request(alpha):
    task = make_workflow(alpha, [calls("load", for_each=[1, 2, 3]), calls("b")])
    run = begin_run(task)
    work(run)

    said = call("workflows", "status", str(run), "--items", "load", "--limit", "2", "--json")

    found = read_document("workflows-status", said.out)
    assert [(item["item"], item["status"]) for item in found["items"]] == [
        (0, "SUCCEEDED"),
        (1, "SUCCEEDED"),
    ]
    assert "load[2]" in call("workflows", "status", str(run), "--items", "load").out
    for key in ("b", "nothing"):
        assert call("workflows", "status", str(run), "--items", key).code == 3


def test_a_workflow_without_a_run_and_an_unknown_id_exit_with_3(task):
    none, unknown = (call("workflows", "status", one) for one in (str(task.id), "0" * 12))

    assert (none.code, unknown.code) == (3, 3)
    assert "has no run yet" in none.err
    assert "no workflow and no run" in unknown.err
