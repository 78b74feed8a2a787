"""Each step begins by its kind; one whose templates have no value that fits fails alone."""

from __future__ import annotations

from typing import Any

import pytest

from executions.models import Execution
from shared.encryption import DecryptionFailed
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, open_keys, run_step, why, work_on
from tests.support.workflows import (
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows import sealed
from workflows.advance import begins, scope
from workflows.control import pause_run, resume_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def fan(**parts: Any) -> list[dict[str, Any]]:
    """Return steps: a fan-out over the output of the first, and a join that names its output."""
    return [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", **parts),
        calls("sum", "load", condition="all_done", payload="{{ steps.load.output }}"),
    ]


def test_a_step_whose_when_does_not_hold_is_skipped(tenant: Tenant):
    steps = [calls("a", when="input.on == true"), calls("b", "a", condition="none_failed")]
    run_id = begin_run(make_workflow(tenant, steps), {"on": False})

    assert why(run_id, 1) == ("SKIPPED", "when_not_met")
    assert open_keys(run_id) == ["b"]


@pytest.mark.parametrize(
    "parts",
    [
        {"payload": "{{ input.missing }}"},
        {"payload": {"deep": ["{{ input.day.deeper }}"]}},
        {"when": "input.missing == 1"},
        {"when": "input.day > 1"},
        {"for_each": "{{ input.day }}"},
        {"for_each": "{{ input.missing }}"},
    ],
)
def test_a_template_without_a_value_that_fits_fails_its_step_alone(tenant: Tenant, parts: Any):
    task = make_workflow(tenant, [calls("a", **parts), calls("b")], on_failure="continue")
    run_id = begin_run(task, {"day": "monday"})

    assert why(run_id, 1) == ("FAILED", "template_invalid")
    assert open_keys(run_id) == ["b"]


def test_a_payload_that_its_templates_make_too_large_fails_its_step(tenant: Tenant):
    big = "x" * 200_000
    run_id = begin_run(
        make_workflow(tenant, [calls("a", payload=["{{ input }}", "{{ input }}"])]), big
    )

    assert why(run_id, 1) == ("FAILED", "payload_too_large")
    assert status_of(run_id) == "FAILED"


def test_a_fan_out_goes_through_its_window(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, fan(max_parallel=2)))
    run_step(run_id, "list", result=list(range(5)))

    assert open_keys(run_id) == ["load[0]", "load[1]"]
    run_step(run_id, "load[1]")
    assert open_keys(run_id) == ["load[0]", "load[2]"]


def test_an_advance_begins_a_bounded_number_of_items_and_the_next_one_goes_on(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "MOST_BEGINS", 3)
    run_id = begin_run(make_workflow(tenant, fan(max_parallel=10)))

    run_step(run_id, "list", result=list(range(8)))

    assert len(open_keys(run_id)) == 8


def test_a_fan_out_of_items_that_all_end_at_once_ends_with_them(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "MOST_BEGINS", 3)
    run_id = begin_run(make_workflow(tenant, fan(when="item < 0", max_parallel=2)))

    run_step(run_id, "list", result=list(range(8)))

    counts = {"succeeded": 0, "failed": 0, "skipped": 8, "outputs": [None] * 8}
    assert open_keys(run_id) == ["sum"]
    assert payloads_of(run_id, 3) == [counts]


def test_an_item_whose_template_has_no_value_fails_alone(tenant: Tenant):
    steps = fan(payload="{{ item.name }}", min_success_share=0.5)
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "list", result=[{"name": "x"}, {}, {"name": "z"}])

    assert open_keys(run_id) == ["load[0]", "load[2]"]
    assert why(run_id, 2, 1) == ("FAILED", "template_invalid")
    work_on(run_id)
    assert status_of(run_id) == "SUCCEEDED"


def test_a_fan_out_with_more_items_than_allowed_fails(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "FAN_OUT_ITEMS", 3)
    run_id = begin_run(make_workflow(tenant, fan()))

    run_step(run_id, "list", result=[1, 2, 3, 4])

    assert why(run_id, 2) == ("FAILED", "template_invalid")


def test_outputs_of_items_that_are_too_large_together_are_left_out(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "MOST_BYTES_OF_FAN", 20)
    run_id = begin_run(make_workflow(tenant, fan()))
    run_step(run_id, "list", result=[1, 2])
    rows = claim(run_id)

    for row in rows.values():
        end(row, result="x" * 20)
    go_on(run_id)

    counts = {"succeeded": 2, "failed": 0, "skipped": 0}
    assert payloads_of(run_id, 3) == [{**counts, "outputs": None, "outputs_truncated": True}]


def test_a_paused_run_begins_no_item(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, fan(max_parallel=1)))
    run_step(run_id, "list", result=[1, 2])
    pause_run(tenant.id, run_id, actor=ACTOR)

    run_step(run_id, "load[0]")

    assert open_keys(run_id) == []
    resume_run(tenant.id, run_id, actor=ACTOR)
    assert open_keys(run_id) == ["load[1]"]


def test_an_input_that_no_key_opens_fails_the_items_that_begin_then(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    run_id = begin_run(make_workflow(tenant, fan(max_parallel=1, payload="{{ input }}")), 1)
    other = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]), 1)
    run_step(run_id, "list", result=[1, 2])
    opened = sealed.open_input

    def cut(sealed: Any, tenant_id: Any, of_run: Any) -> Any:
        if of_run == run_id:
            raise DecryptionFailed("The key is gone.")
        return opened(sealed, tenant_id, of_run)

    monkeypatch.setattr(scope, "open_input", cut)
    rows = claim(run_id), claim(other)
    end(rows[0]["load[0]"])
    end(rows[1]["a"])
    go_on(run_id, other)

    assert open_keys(other) == ["b"]
    assert why(run_id, 2, 1) == ("FAILED", "decryption_failed")


def test_steps_of_other_kinds_wait_and_make_no_execution(tenant: Tenant):
    steps: list[Any] = [
        {"key": "delay", "kind": "delay", "delay_seconds": 60},
        {"key": "approve", "kind": "approval"},
        {
            "key": "event",
            "kind": "wait_for_event",
            "event": "paid",
            "correlation": "{{ input.id }}",
        },
    ]
    run_id = begin_run(make_workflow(tenant, steps), {"id": "o-1"})

    assert set(states(run_id).values()) == {"OPEN"}
    assert not Execution.objects.filter(run_id=run_id).exists()


@pytest.mark.parametrize("value", [7, {"a": 1}, "x" * 201])
def test_a_correlation_must_be_a_short_text(tenant: Tenant, value: Any):
    steps = [
        {"key": "event", "kind": "wait_for_event", "event": "paid", "correlation": "{{ input.id }}"}
    ]
    run_id = begin_run(make_workflow(tenant, steps), {"id": value})

    assert why(run_id, 1) == ("FAILED", "template_invalid")


def test_the_execution_of_a_step_is_as_its_definition_says(tenant: Tenant):
    steps = [calls("a", retry_policy={"max_attempts": 3}, priority=8)]
    run_id = begin_run(make_workflow(tenant, steps))

    row = Execution.objects.get(run_id=run_id)

    assert (row.trigger, row.parent_id, row.take) == ("workflow", run_id, 1)
    assert (row.max_attempts, row.priority, row.pool) == (3, 8, "default")
    assert row.destination == "api.example.com"
    assert ends_of(run_id) == []
