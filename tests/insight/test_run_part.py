from __future__ import annotations

from executions.models import Execution
from insight.run_part import RunPart, part_of
from tests.factories import make_task, once, prepare, reload, spoil
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    edit_workflow,
    make_workflow,
    work,
)
from workflows.plan import plan_of


def test_an_execution_of_a_plain_task_is_part_of_no_run(alpha):
    task = make_task(alpha, once())
    prepare()

    assert part_of(Execution.objects.get(), task) is None


def test_a_take_is_part_of_its_run(alpha):
    flow = make_workflow(alpha, [calls("a")])
    run = begin_run(flow)

    assert part_of(Execution.objects.get(pk=run), flow) == RunPart(run, is_step=False)


def test_a_step_has_its_key_and_its_item_after_an_edit_too(alpha):
    flow = make_workflow(alpha, [calls("f", for_each=[1], payload="{{ item }}")])
    run = begin_run(flow)
    edit_workflow(flow, {"name": "Flow", "steps": [calls("z"), calls("f")]})
    step = Execution.objects.get(run_id=run)

    assert part_of(step, reload(flow)) == RunPart(run, True, "f", 0)


def test_what_undoes_a_step_is_told_apart(alpha):
    undo = {"target": {"url": "https://api.example.com/undo"}}
    steps = [calls("a", compensate=undo), calls("b", "a")]
    flow = make_workflow(alpha, steps, on_failure="compensate")
    run = begin_run(flow)
    work(run, lambda key, item: "FAILED" if key == "b" else "SUCCEEDED")

    found = [part_of(one, flow) for one in Execution.objects.filter(run_id=run).order_by("id")]

    assert [(one.key, one.undoes) for one in found if one] == [
        ("a", False),
        ("b", False),
        ("a", True),
    ]


def test_a_run_that_a_step_began_is_a_run_of_its_own(alpha):
    child = make_workflow(alpha, [calls("a")], name="Child")
    sub = {"key": "sub", "kind": "workflow", "workflow_id": str(child.pk)}
    begin_run(make_workflow(alpha, [sub]))
    begin_children()
    take = Execution.objects.get(task_id=child.pk, pool="workflow")

    assert part_of(take, child) == RunPart(take.pk, is_step=False)


def test_without_a_key_that_opens_the_definition_a_step_has_no_key(alpha):
    flow = make_workflow(alpha, [calls("a")])
    run = begin_run(flow)
    spoil(flow)
    plan_of.cache_clear()

    assert part_of(Execution.objects.get(run_id=run), flow) == RunPart(run, is_step=True)
