from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import run_task
from insight import workflow_runs
from shared.exceptions import NotFound
from tests.factories import ACTOR, executions_of, make_tenant, prepare
from tests.support.workflows import EVERYWHERE, begin_run, calls, go_on, make_workflow, work
from workflows.begin import begin_due
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant():
    return make_tenant()


@pytest.fixture
def task(tenant):
    return make_workflow(tenant, [calls("a"), calls("b", "a")])


def failed(task):
    run = begin_run(task)
    work(run, lambda key, item: "FAILED")
    return run


def again(tenant, run):
    retry_run(tenant.id, run, Retry(), actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    go_on(run)


def ids(runs):
    return set(runs.values_list("id", flat=True))


def test_runs_are_first_takes_without_steps_and_later_takes(tenant, task):
    runs = {failed(task), begin_run(task), run_task(tenant.id, task.id, None, actor=ACTOR).id}
    again(tenant, min(runs))

    assert ids(workflow_runs.runs_of(tenant.id, task.id)) == runs
    assert not ids(workflow_runs.runs_of(make_tenant("Beta").id, task.id))


def test_the_latest_take_counts_whatever_its_state(tenant, task):
    run = failed(task)
    firsts = list(workflow_runs.runs_of(tenant.id, task.id))

    [ended] = workflow_runs.latest_takes(firsts)
    again(tenant, run)
    [live] = workflow_runs.latest_takes(firsts)
    work(run, lambda key, item: "FAILED")
    [last] = workflow_runs.latest_takes(firsts)

    takes = [(one.number, one.execution.status) for one in (ended, live, last)]
    assert takes == [(1, "FAILED"), (2, "RUNNING"), (2, "FAILED")]
    assert {one.run_id for one in (ended, live, last)} == {run}
    assert live.execution.id == last.execution.id != run


def test_a_status_is_that_of_the_latest_take(tenant, task):
    run, done = failed(task), begin_run(task)
    work(done)
    runs = workflow_runs.runs_of(tenant.id, task.id)

    assert ids(workflow_runs.with_status(runs, ["FAILED"])) == {run}
    assert ids(workflow_runs.with_status(runs, ["SUCCEEDED"])) == {done}
    again(tenant, run)
    assert ids(workflow_runs.with_status(runs, ["RUNNING"])) == {run}
    assert not ids(workflow_runs.with_status(runs, ["FAILED"]))


def test_a_take_is_found_by_the_id_of_its_run_only(tenant, task):
    run = failed(task)
    again(tenant, run)

    take = workflow_runs.find_take(tenant.id, run)

    assert (take.run_id, take.number) == (run, 2)
    for execution in Execution.objects.exclude(pk=run):
        with pytest.raises(NotFound):
            workflow_runs.find_take(tenant.id, execution.id)
    with pytest.raises(NotFound):
        workflow_runs.find_take(make_tenant("Beta").id, run)


def test_the_latest_run_is_the_one_whose_time_came_last(tenant, task):
    assert workflow_runs.latest_run(tenant.id, task.id, database_now()) is None
    begin_run(task)
    last = begin_run(task)

    found = workflow_runs.latest_run(tenant.id, task.id, database_now())

    assert found is not None
    assert found.id == last


def test_runs_ahead_of_their_time_come_behind_those_whose_time_has_come(tenant):
    task = make_workflow(tenant, [calls("a")], schedule={"cron_expression": "* * * * * *"})
    prepare()
    first, second, third, *_ = executions_of(task)

    def latest(now):
        found = workflow_runs.latest_run(tenant.id, task.id, now)
        return found and found.id

    assert latest(second.scheduled_for) == second.id
    assert latest(third.scheduled_for - timedelta(milliseconds=2)) == second.id
    assert latest(first.scheduled_for - timedelta(minutes=1)) == first.id


def test_a_page_of_runs_costs_as_many_queries_as_one(tenant, task):
    for _ in range(3):
        begin_run(task)
    takes = workflow_runs.latest_takes(list(workflow_runs.runs_of(tenant.id, task.id)))
    workflow_runs.see(takes)  # the plan of a version is read once
    counts = []
    for some in (takes[:1], takes):
        with CaptureQueriesContext(connection) as queries:
            seen = workflow_runs.see(some)
        counts.append(len(queries))
        assert all(one.status(1) == "QUEUED" for one in seen)

    assert counts == [3, 3]


def test_steps_are_named_by_their_keys(tenant, task):
    [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, begin_run(task))])

    assert workflow_runs.number_of(seen, "b") == 2
    with pytest.raises(NotFound):
        workflow_runs.number_of(seen, "oops")


def test_an_outline_has_the_short_outputs_of_the_steps_that_are_shown(tenant):
    named = {key: f"{{{{ steps.{key}.output }}}}" for key in ("a", "b", "c")}
    flow = make_workflow(
        tenant, [calls("a"), calls("b"), calls("c"), calls("d", "a", "b", "c", payload=named)]
    )
    run = begin_run(flow)
    work(run, lambda key, item: ("SUCCEEDED", "x" * 9000 if key == "c" else "x"))
    [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, run)])

    ends = workflow_runs.outline_ends_of(seen, [1, 3, 4])

    whole = workflow_runs.ends_of(seen)
    kept = {step: end.sealed_output for step, end in ends.items()}
    assert kept == {1: whole[1].sealed_output, 2: None, 3: None, 4: None}
    sizes = [getattr(ends[step], "output_bytes", 0) for step in (1, 2, 3)]
    assert sizes == [len(bytes(whole[step].sealed_output or b"")) for step in (1, 2, 3)]
