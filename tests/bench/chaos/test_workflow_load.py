from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench.chaos import workflow_load
from bench.chaos.site import Site
from bench.chaos.table import EXPERIMENTS
from bench.chaos.workflow_load import NoLoad, WorkflowLoad, graphs
from bench.installation import Installation, InstallationError
from bench.workflows.evidence import Call
from bench.workflows.runs import EndedRun
from operations.proof.campaign import Receiver
from operations.proof.matcher import Fault
from operations.proof.workload import Window
from tests.factories import make_tenant
from tests.support.experiments import inject
from tests.support.step_calls import URL, call
from tests.support.workflow_steps import work_on
from tests.support.workflows import begin_run, ends_of, make_workflow, status_of

SITE = Site(Installation("http://127.0.0.1:1", "secret", {"DATA_DIR": "/nowhere"}))
WINDOW = Window(0, 1000, URL, "w")
JOIN = graphs(URL)[0]
RUN = "run"


class Ledger:
    """Stands in for the product: what it has of the runs, and what the receiver has."""

    def __init__(self) -> None:
        self.made = [RUN]
        self.status = "SUCCEEDED"
        self.states = JOIN.expected()
        self.calls: list[Call] = [call(1, 0), call(2, 0, 5), call(3, 6), call(4, 7)]
        self.late = False

    def rows(self, site: Site, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        if statement == workflow_load._MADE:
            return [(run_id,) for run_id in self.made]
        return [(RUN, step, status) for step, status in self.states.items()]

    async def until_ended(self, product: Any, ids: Any, seconds: float) -> dict[str, EndedRun]:
        if self.late:
            raise InstallationError("0 of 1 runs ended")
        return {RUN: EndedRun(1, self.status, 0.0)}


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    found = Ledger()
    monkeypatch.setattr(Site, "rows", lambda site, *asked: found.rows(site, *asked))
    monkeypatch.setattr(Installation, "database_url", "")
    monkeypatch.setattr(workflow_load, "until_ended", found.until_ended)
    monkeypatch.setattr(workflow_load, "read_calls", lambda *_: (found.calls, []))
    return found


def judged(*faults: Fault) -> list[str]:
    load = WorkflowLoad(SITE, Receiver(URL, Path("ledger")))
    load._faults = faults
    return load._judge(JOIN, "workflow", [RUN])[1]


def test_a_run_that_ends_as_its_policy_says_has_no_problems(ledger: Ledger):
    assert judged() == []


def test_a_run_that_ends_otherwise_is_found(ledger: Ledger):
    ledger.status = "FAILED"
    ledger.states[3] = "FAILED"

    found = judged()

    assert found[0] == "1 runs did not end SUCCEEDED, as run"
    assert found[1].startswith("steps of run run ended")


def test_a_run_that_does_not_end_is_found(ledger: Ledger):
    ledger.late = True

    assert judged() == ["0 of 1 runs ended"]


def test_a_run_that_a_repeated_call_made_twice_is_found(ledger: Ledger):
    ledger.made = [RUN, "another"]

    assert judged() == ["1 runs that no call was answered with"]


def test_a_step_that_ran_twice_needs_a_fault_that_explains_it(ledger: Ledger):
    ledger.calls.append(call(4, 30))

    assert judged() == ["step 4[-1] of run run ran 2 times"]
    assert judged(Fault("SIGKILL", 8_000_000, 2_000_000)) == []


def test_a_join_that_began_too_early_is_found_whatever_the_fault(ledger: Ledger):
    ledger.calls[2] = call(3, 4)

    assert judged(Fault("SIGKILL", 8_000_000, 2_000_000)) == [
        "step 3 of run run began before step 2 had ended"
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("number", range(4))
def test_each_graph_of_the_load_ends_as_the_judge_expects(number: int):
    graph = graphs("https://api.example.com")[number]
    body = {key: part for key, part in graph.body.items() if key != "name"}
    run_id = begin_run(make_workflow(make_tenant(), **body), graph.value)

    work_on(run_id, lambda key, item: "FAILED" if key == "bad" else "SUCCEEDED")

    assert status_of(run_id) == graph.status
    assert {one.step: one.status for one in ends_of(run_id) if one.item < 0} == graph.expected()


def test_a_load_without_runs_is_a_problem_and_no_load_is_none(ledger: Ledger):
    load, notes = WorkflowLoad(SITE, Receiver(URL, Path("ledger"))), list[str]()
    load._workflows = dict.fromkeys(range(4), "workflow")
    ledger.made = []

    assert "no run of a workflow was started" in load.problems(notes)
    assert NoLoad().problems(notes) == []
    assert asyncio.run(NoLoad().during(WINDOW, inject(SITE, WINDOW))) == ()


def test_kills_of_each_kind_of_process_and_server_have_the_load():
    found = {one.id for one in EXPERIMENTS if one.workflows}

    assert found == {
        "worker-killed",
        "scheduler-killed",
        "recorder-killed",
        "web-killed",
        "everything-killed",
        "database-killed",
        "broker-killed",
    }
