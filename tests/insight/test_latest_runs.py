"""The latest run of each of several workflows, and one step of a run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from insight.presentation.workflow_runs import present_run, present_step
from insight.workflow_runs import find_take, latest_runs, see
from tests.support.workflows import begin_run, calls, make_workflow, work


def test_each_workflow_has_its_latest_run_that_has_come(alpha, beta, django_assert_num_queries):
    first, second, unrun = (make_workflow(alpha, [calls("a")]) for _ in range(3))
    other = make_workflow(beta, [calls("a")])
    runs = [begin_run(task) for task in (first, first, second, other)]
    now = database_now() + timedelta(seconds=1)

    with django_assert_num_queries(2):
        found = latest_runs(alpha.pk, [first.pk, second.pk, unrun.pk, other.pk], now)

    assert {task_id: run.pk for task_id, run in found.items()} == {
        first.pk: runs[1],
        second.pk: runs[2],
    }


def test_a_run_still_ahead_is_not_the_latest(alpha):
    task = make_workflow(alpha, [calls("a")])
    begin_run(task)

    assert not latest_runs(alpha.pk, [task.pk], database_now() - timedelta(days=1))


@pytest.mark.parametrize("key", ["a", "f", "b"])
def test_one_step_is_shown_as_among_all(alpha, key):
    flow = [calls("a"), calls("f", "a", for_each=[1, 2]), calls("b", "f")]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: "FAILED" if item == 1 else "SUCCEEDED")
    [seen] = see([find_take(alpha.pk, run)])
    number = next(one for one, step in seen.steps.items() if step["key"] == key)

    steps = {step["key"]: step for step in present_run(alpha.pk, run)["steps"]}

    assert present_step(seen, number) == steps[key]
