from __future__ import annotations

import asyncio

import pytest

from bench.installation import Installation, InstallationError
from bench.workflows.retry import graph, judge, kill_everything, value
from executions.triggering.triggers import Override
from operations.proof.matcher import Fault
from tests.factories import ACTOR, make_tenant
from tests.support.step_calls import MS, URL, call
from tests.support.workflow_steps import work_on
from tests.support.workflows import EVERYWHERE, begin_run, go_on, make_workflow, status_of
from workflows.begin import begin_due
from workflows.retrying import Retry, retry_run

BODY = graph(URL)
#: Everything up to the step that fails, and the second take from there on.
FIRST = [
    call(1, 0),
    call(2, 10, 5),
    call(3, 10),
    *(call(4, 20, item=item) for item in range(5)),
    call(5, 30, status=500),
]
SECOND = [call(5, 1000, take=2), call(6, 1010, 5, take=2), call(7, 1020, take=2)]
STRUCK = Fault("SIGKILL", 1012 * MS, 2 * MS)


def test_a_retry_from_the_failed_step_runs_only_what_is_left():
    assert judge([*FIRST, *SECOND], BODY, STRUCK) == []


@pytest.mark.django_db
def test_the_input_decides_whether_the_workflow_fails_and_a_retry_runs_what_is_left():
    body = graph("https://api.example.com")
    tenant = make_tenant()
    run_id = begin_run(make_workflow(tenant, body["steps"]), value(500))
    work_on(run_id, lambda key, item: "FAILED" if key == "mend" else "SUCCEEDED")
    assert status_of(run_id) == "FAILED"

    retry_run(tenant.id, run_id, Retry(override=Override(value(200))), actor=ACTOR)
    begin_due(EVERYWHERE, 10)
    go_on(run_id)

    assert work_on(run_id) == ["mend", "after", "report"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_step_that_had_succeeded_and_ran_again_is_found():
    again = call(4, 1005, item=3, take=2)

    found = judge([*FIRST, again, *SECOND], BODY, STRUCK)

    assert "step 4[3] of run run had succeeded and ran again" in found


def test_a_request_in_flight_at_the_kill_may_be_repeated():
    repeated = [*SECOND[:2], call(6, 1500, 5, take=2, attempt=2), call(7, 1600, take=2)]

    assert judge([*FIRST, *repeated], BODY, STRUCK) == []
    assert judge([*FIRST, *repeated], BODY, Fault("SIGKILL", 5000 * MS)) != []


def test_only_an_installation_of_its_own_is_killed():
    with pytest.raises(InstallationError):
        asyncio.run(kill_everything(Installation("http://127.0.0.1:1", "key", {})))
