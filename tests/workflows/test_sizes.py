"""Sizes at their limits: what fits is kept and sent, one byte more ends the step with its code.

No size lets a run stick, or an advance write out many times what a step may send.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
import pytest

from executions.models import WorkflowRun
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, open_keys, reply, run_step, why, work_on
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows.advance import begins
from workflows.signals import send_signal

pytestmark = pytest.mark.django_db
KIB = 1024
LARGEST = 256 * KIB


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def text_of(size: int) -> str:
    """Return a text of this many bytes as JSON."""
    return "x" * (size - 2)


def rest(run_id: UUID) -> str:
    """Let all that is open end; return how the run has ended."""
    work_on(run_id)
    return status_of(run_id)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("as_answer", [True, False])
def test_an_output_of_256_kib_is_kept_and_sent_on(tenant: Tenant, more: int, as_answer: bool):
    steps = [calls("a"), calls("b", "a", condition="all_done", payload="{{ steps.a.output }}")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    value = text_of(LARGEST + more)

    row = claim(run_id)["a"]
    if as_answer:
        reply(row, orjson.dumps(value))
    else:
        end(row, result=value)
    go_on(run_id)

    expected = ("FAILED", "output_too_large") if more else ("SUCCEEDED", "")
    assert why(run_id, 1) == expected
    assert payloads_of(run_id, 2) == [None if more else value]
    assert rest(run_id) == expected[0]


@pytest.mark.parametrize("more", [0, 1])
def test_templates_make_a_payload_of_256_kib(tenant: Tenant, more: int):
    steps = [calls("a"), calls("b", "a", payload=["{{ steps.a.output }}", 1])]
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "a", result=text_of(LARGEST - len("[,1]") + more))

    assert (why(run_id, 2) == ("FAILED", "payload_too_large")) if more else open_keys(run_id)
    assert rest(run_id) == ("FAILED" if more else "SUCCEEDED")


@pytest.mark.parametrize(
    "parts",
    [
        {"payload": ["{{ steps.a.output }}"] * 5000},
        {"payload": "{{ steps.a.output }} " * 5000},
        {"for_each": ["{{ steps.a.output }}"] * 5000},
        {"target": {"url": "https://api.example.com/?" + "{{ steps.a.output }}" * 50}},
    ],
    ids=["list", "text", "items", "url"],
)
def test_what_names_a_large_output_many_times_fails_before_it_is_written_out(
    tenant: Tenant, parts: dict[str, Any]
):
    run_id = begin_run(make_workflow(tenant, [calls("a"), {**calls("b", "a"), **parts}]))

    run_step(run_id, "a", result=text_of(LARGEST))

    assert why(run_id, 2) == ("FAILED", "payload_too_large")
    assert status_of(run_id) == "FAILED"


def test_a_compensation_whose_payload_is_too_large_says_so(tenant: Tenant):
    undo = {"target": {"url": "https://api.example.com/undo"}, "payload": ["{{ input }}"] * 3}
    steps = [calls("a", compensate=undo), calls("b", "a")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="compensate"), text_of(100 * KIB))
    run_step(run_id, "a")

    run_step(run_id, "b", "FAILED")

    assert states(run_id)["a"] == "NOT_COMPENSATED"
    assert why(run_id, 1, -2)[1] == "payload_too_large"
    assert status_of(run_id) == "FAILED"


@pytest.mark.parametrize("more", [0, 1])
def test_outputs_of_items_are_kept_up_to_a_mib_together(tenant: Tenant, more: int):
    steps = [
        calls("load", for_each=list(range(8)), max_parallel=8),
        calls("sum", "load", payload="{{ steps.load.output.outputs_truncated }}"),
        calls("again", "load", for_each="{{ steps.load.output.outputs }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    each = (KIB * KIB - len("[,,,,,,,]")) // 8
    rows = claim(run_id)
    left = KIB * KIB - len("[,,,,,,,]") - 7 * each
    for item in range(8):
        end(rows[f"load[{item}]"], result=text_of(left + more if item == 7 else each))
    go_on(run_id)

    assert states(run_id)["load"] == "SUCCEEDED"
    # Where they are whole there is no such place, and the fan-out behind them runs.
    assert why_or_open(run_id, 2) == ("OPEN" if more else "template_invalid")
    assert why_or_open(run_id, 3) == ("template_invalid" if more else "OPEN")
    assert rest(run_id) == "FAILED"


def why_or_open(run_id: UUID, step: int) -> str:
    key = ["", "load", "sum", "again"][step]
    return "OPEN" if states(run_id)[key] == "OPEN" else why(run_id, step)[1]


def test_items_with_large_payloads_begin_in_several_advances(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "MOST_BYTES_BEGUN", 100 * KIB)
    monkeypatch.setattr(begins, "_ITEMS", 2)
    step = calls("load", for_each=list(range(9)), max_parallel=9, payload="{{ input }}")

    run_id = begin_run(make_workflow(tenant, [step]), text_of(60 * KIB))

    assert len(open_keys(run_id)) == 9
    assert rest(run_id) == "SUCCEEDED"


@pytest.mark.parametrize(("size", "expected"), [(127, "SUCCEEDED"), (129, "FAILED")])
def test_the_outputs_of_a_sub_workflow_have_256_kib_together(
    tenant: Tenant, size: int, expected: str
):
    child = make_workflow(tenant, [calls("a"), calls("b")], name="Child")
    run_id = begin_run(
        make_workflow(
            tenant, [running(child), calls("after", "inner", payload="{{ steps.inner.output }}")]
        )
    )
    begin_children()
    inner = WorkflowRun.objects.get(parent_run=run_id).id
    for row in claim(inner).values():
        end(row, result=text_of(size * KIB))
    go_on(inner, run_id)

    assert why(run_id, 1) == (expected, "" if expected == "SUCCEEDED" else "output_too_large")
    assert rest(run_id) == expected


def running(child: Task) -> dict[str, Any]:
    return {"key": "inner", "kind": "workflow", "workflow_id": str(child.id)}


def test_a_signal_of_256_kib_is_an_output(tenant: Tenant):
    steps = [
        {"key": "wait", "kind": "wait_for_event", "event": "paid"},
        calls("b", "wait", payload="{{ steps.wait.output }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    value = text_of(LARGEST)

    send_signal(tenant.id, "paid", "", value, actor=ACTOR)
    go_on(run_id)

    assert payloads_of(run_id, 2) == [value]
    assert rest(run_id) == "SUCCEEDED"


def test_outputs_of_items_that_cannot_fit_together_are_not_read(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    steps = [
        calls("load", for_each=list(range(8)), max_parallel=8),
        calls("sum", "load", payload="{{ steps.load.output.outputs_truncated }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    for item, row in enumerate(claim(run_id).values()):
        if item == 4:
            # Some are written, others of the same advance.
            go_on(run_id)
        end(row, result=text_of(150 * KIB))

    def unread(*_: Any) -> Any:
        raise AssertionError("the outputs were read")

    monkeypatch.setattr("workflows.advance.scope.outputs_of_items", unread)
    go_on(run_id)

    assert why_or_open(run_id, 2) == "OPEN"
