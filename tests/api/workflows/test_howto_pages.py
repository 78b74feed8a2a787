"""The examples of the how-to pages about workflows run as they stand there."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest

from executions.models import DeadLetter
from shared.strict_yaml import read_yaml
from tasks.models import Task
from tests.support.page_calls import FOLDER, blocks, calls_of, commands_of, run_command
from tests.support.runs_api import act, shown, steps
from tests.support.time_of_waits import let_waits_end
from tests.support.workflow_steps import claim, end
from tests.support.workflows import (
    begin_run,
    begin_take,
    go_on,
    make_workflow,
    pass_time,
    payloads_of,
    states,
    status_of,
    work,
)
from workflows.retry_requests import begin_wanted

PAGES = (
    *("run-a-workflow", "fan-out", "mend-a-failed-run", "approve-a-step"),
    *("compensate", "deadlines-of-workflows", "wait-for-events"),
)


def made(client: Any, page: str) -> Task:
    """Create the workflow of a page by its first call."""
    answer = calls_of(page)[0].make(client)
    assert answer.status_code == 201, answer.content
    return Task.objects.get(pk=answer.json()["id"])


def accepted(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 202, answer.content
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_in_the_index_and_its_links_are_there(page):
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    index = (FOLDER.parent / "index.md").read_text(encoding="utf-8")

    assert f"(howto/{page}.md)" in index
    links = re.findall(r"\]\(([^)#:]+\.md)", text)
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_first_workflow_runs_with_its_input_and_gets_its_schedule(client, alpha):
    task = made(client, "run-a-workflow")
    _, start, status, schedule = calls_of("run-a-workflow")

    run = UUID(accepted(start.make(client, workflow=task.id))["id"])
    begin_take(run)
    done = work(run, lambda key, item: ("SUCCEEDED", {"files": ["a.csv", "b.csv"]}))

    assert done == ["extract", "load", "report"]
    assert [payloads_of(run, step) for step in (1, 2, 3)] == [
        [{"day": "2026-11-28"}],
        [{"files": ["a.csv", "b.csv"]}],
        [{"load": "SUCCEEDED"}],
    ]
    answer = status.make(client, workflow=task.id)
    assert (answer.status_code, answer.json()["status"]) == (200, "SUCCEEDED")
    answer = schedule.make(client, workflow=task.id)
    assert (answer.status_code, answer.json()["max_concurrent"]) == (200, 1)


def test_the_report_of_the_first_workflow_runs_in_either_case(client, alpha):
    run = begin_run(made(client, "run-a-workflow"))

    done = work(run, lambda key, item: "FAILED" if key == "extract" else "SUCCEEDED")

    assert done == ["extract", "report"]
    assert payloads_of(run, 1) == [{"day": None}]
    assert status_of(run) == "FAILED"


def test_the_yaml_of_the_first_workflow_makes_and_runs_one(alpha, tmp_path, monkeypatch):
    [yaml] = blocks("run-a-workflow", "yaml")
    (tmp_path / "nightly.yaml").write_text(yaml)
    monkeypatch.chdir(tmp_path)
    create, start, status = commands_of("run-a-workflow")

    assert run_command(create).code == 0
    task = Task.objects.get()
    assert run_command(start, workflow=task.id).code == 0
    assert "PENDING" in run_command(status, workflow=task.id).out
    assert read_yaml(yaml)["steps"][1]["depends_on"] == ["extract"]


def test_the_fan_out_loads_each_file_that_is_not_empty(client, alpha):
    run = begin_run(made(client, "fan-out"))
    files = [{"name": "a", "size": 1}, {"name": "b", "size": 0}, {"name": "c", "size": 2}]

    def answer(key: str, item: int) -> Any:
        return ("SUCCEEDED", {"files": files} if key == "list" else {"rows": item})

    done = work(run, answer)

    assert sorted(done) == ["list", "load[0]", "load[2]", "report"]
    assert payloads_of(run, 2) == [{"file": "a", "number": 0}, {"file": "c", "number": 2}]
    assert payloads_of(run, 3) == [{"failed": 0, "rows": [{"rows": 0}, None, {"rows": 2}]}]
    items = calls_of("fan-out")[1].make(client, run=run)
    assert [one["status"] for one in items.json()["items"]] == ["SUCCEEDED", "SKIPPED", "SUCCEEDED"]
    [listed] = commands_of("fan-out")
    assert "load[2]" in run_command(listed, run=run).out


def failing(alpha) -> UUID:
    flow = [
        {"key": key, "depends_on": before, "target": {"url": f"https://api.example.com/{key}"}}
        for key, before in (("extract", []), ("load", ["extract"]), ("report", ["load"]))
    ]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: "FAILED" if key == "load" else "SUCCEEDED")
    return run


def test_a_failed_run_is_retried_and_only_what_has_failed_runs_again(client, alpha):
    run = failing(alpha)

    assert accepted(calls_of("mend-a-failed-run")[0].make(client, run=run))["take"] == 2
    begin_take(run)

    assert work(run) == ["load", "report"]
    assert status_of(run) == "SUCCEEDED"
    assert DeadLetter.objects.count() == 1


def test_a_run_is_retried_from_a_step_by_call_and_by_command(client, alpha):
    run = failing(alpha)

    accepted(calls_of("mend-a-failed-run")[1].make(client, run=run))
    begin_take(run)
    assert work(run) == ["load", "report"]
    retry = commands_of("mend-a-failed-run")[0]
    assert run_command(retry, run=run).code == 0
    begin_take(run)

    assert work(run) == ["load", "report"]
    assert shown(client, run)["take"] == 3


@pytest.mark.parametrize("by", ["call", "command"])
def test_a_run_that_has_not_ended_is_cancelled_and_retried(client, alpha, by):
    run = failing(alpha)
    accepted(_retry_from(client, run, "extract"))
    begin_take(run)

    if by == "call":
        accepted(calls_of("mend-a-failed-run")[2].make(client, run=run))
    else:
        assert run_command(commands_of("mend-a-failed-run")[1], run=run).code == 0
    go_on(run)
    begin_wanted([run])
    begin_take(run)

    assert work(run) == ["extract", "load", "report"]
    assert shown(client, run)["take"] == 3


@pytest.mark.parametrize("by", ["call", "command"])
def test_a_failed_step_that_was_done_by_hand_lets_the_run_go_on(client, alpha, by):
    run = failing(alpha)

    if by == "call":
        accepted(calls_of("mend-a-failed-run")[3].make(client, run=run))
    else:
        words = commands_of("mend-a-failed-run")[2]
        assert run_command(words, "--yes", run=run).code == 0
    begin_take(run)

    assert work(run) == ["report"]
    assert (status_of(run), shown(client, run)["take"]) == ("SUCCEEDED", 2)


@pytest.mark.parametrize("by", ["call", "command"])
def test_a_step_that_has_not_begun_is_ended_by_hand(client, alpha, by):
    run = failing(alpha)
    accepted(_retry_from(client, run, "extract"))
    begin_take(run)
    accepted(act(client, run, "pause"))

    if by == "call":
        for one in calls_of("mend-a-failed-run")[3:]:
            accepted(one.make(client, run=run))
    else:
        for words in commands_of("mend-a-failed-run")[2:]:
            assert run_command(words, "--yes", run=run).code == 0

    assert states(run) == {"extract": "OPEN", "load": "SUCCEEDED", "report": "SKIPPED"}
    accepted(act(client, run, "resume"))
    work(run)
    assert status_of(run) == "SUCCEEDED"


def _retry_from(client: Any, run: UUID, key: str) -> Any:
    call = calls_of("mend-a-failed-run")[1]
    return call._replace(body={"from": key}).make(client, run=run)


def test_a_release_is_approved_by_the_call(client, alpha):
    run = begin_run(made(client, "approve-a-step"))
    work(run)

    assert steps(shown(client, run))["release"]["waiting_for"]["take"] == 1
    accepted(calls_of("approve-a-step")[1].make(client, run=run))

    assert work(run) == ["publish"]
    [payload] = payloads_of(run, 3)
    assert payload["approved_by"]
    assert (states(run)["discard"], status_of(run)) == ("SKIPPED", "SUCCEEDED")


@pytest.mark.parametrize(("place", "follows"), [(0, "publish"), (1, "discard")])
def test_a_release_is_decided_by_a_command(client, alpha, place, follows):
    run = begin_run(made(client, "approve-a-step"))
    work(run)

    assert run_command(commands_of("approve-a-step")[place], "--yes", run=run).code == 0

    assert work(run) == [follows]


def test_a_release_that_was_not_decided_in_time_fails(client, alpha):
    run = begin_run(made(client, "approve-a-step"))
    work(run)
    let_waits_end(run, "approval")
    pass_time()

    assert work(run) == ["discard"]
    assert steps(shown(client, run))["release"]["error"]["code"] == "approval_timeout"


def test_a_trip_that_cannot_be_paid_is_undone_in_reverse(client, alpha):
    run = begin_run(made(client, "compensate"))

    def answer(key: str, item: int) -> Any:
        return "FAILED" if key == "pay" else ("SUCCEEDED", {"booking": "LH-1"})

    done = work(run, answer)

    assert done == ["flight", "hotel", "pay", "hotel", "flight"]
    assert payloads_of(run, 1) == [{"booking": "LH-1"}, None]
    assert states(run) == {"flight": "COMPENSATED", "hotel": "COMPENSATED", "pay": "FAILED"}
    assert (status_of(run), DeadLetter.objects.get().error_code) == ("FAILED", "http_status")


def test_a_step_that_misses_its_deadline_fails_and_the_warning_runs(client, alpha):
    run = begin_run(made(client, "deadlines-of-workflows"))
    let_waits_end(run, "deadline")
    pass_time()

    assert work(run) == ["warn"]
    assert steps(shown(client, run))["compute"]["reason"] == "deadline_exceeded"
    assert status_of(run) == "FAILED"


def test_a_run_that_misses_its_deadline_fails(client, alpha):
    run = begin_run(made(client, "deadlines-of-workflows"))
    let_waits_end(run, "run")
    pass_time()
    work(run)

    found = shown(client, run)
    assert (found["status"], found["reason"]) == ("FAILED", "deadline_exceeded")


def test_an_order_is_shipped_when_the_signal_comes(client, alpha):
    run = begin_run(made(client, "wait-for-events"), {"order": 17})
    work(run)
    [signal] = commands_of("wait-for-events")

    said = run_command(signal, "--json")
    go_on(run)

    assert json.loads(said.out)["released"] == 1
    assert work(run) == ["ship"]
    assert payloads_of(run, 3) == [{"order": 17, "amount": 20}]


def test_an_order_that_is_not_paid_in_time_gets_a_reminder(client, alpha):
    run = begin_run(made(client, "wait-for-events"), {"order": 17})
    work(run)
    let_waits_end(run, "event")
    pass_time()

    assert work(run) == ["remind"]
    assert steps(shown(client, run))["paid"]["error"]["code"] == "event_timeout"


def test_a_flight_of_unknown_effect_is_undone(client, alpha):
    run = begin_run(made(client, "compensate"))
    end(claim(run)["flight"], "FAILED", error_code="timeout_total")
    go_on(run)

    assert work(run) == ["flight"]
    assert states(run)["flight"] == "COMPENSATED"
