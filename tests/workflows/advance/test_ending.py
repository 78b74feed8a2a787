"""A run ends with the outputs of its last steps, as far as the step that began it can have them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.models import Execution
from executions.ownership import fence, restored
from shared.encryption import DecryptionFailed
from tenants.models import Tenant
from tests.factories import ACTOR, finish, make_tenant, release, start
from tests.support.child_runs import child_of, failures_of, runs
from tests.support.workflow_steps import run_step
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    go_on,
    make_workflow,
    status_of,
    work,
)
from workflows.advance.outputs import MOST_BYTES

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def large_child(tenant: Tenant, count: int, size: int, **parts: Any) -> UUID:
    """Return a run whose step has run a workflow of steps with outputs of this size each."""
    child = make_workflow(tenant, [calls(f"s{n}") for n in range(count)], name="Child")
    run = begin_run(make_workflow(tenant, [runs("inner", child), calls("after", "inner", **parts)]))
    begin_children()
    work(child_of(run), lambda key, item: ("SUCCEEDED", "x" * size))
    return run


NAMED = {"payload": "{{ steps.inner.output.s0 }}"}


def test_outputs_that_are_too_large_together_are_not_stored_and_fail_the_step(tenant: Tenant):
    run = large_child(tenant, 3, 100_000, **NAMED)

    row = Execution.objects.get(run_id=run, step=1)
    assert (row.status, row.reason, row.sealed_result) == ("SUCCEEDED", "output_too_large", None)
    go_on(run)
    assert failures_of(run) == ["output_too_large"]
    assert status_of(run) == "FAILED"


def test_a_run_whose_output_is_not_named_needs_none(tenant: Tenant):
    run = large_child(tenant, 3, 100_000)

    go_on(run)
    work(run)

    assert status_of(run) == "SUCCEEDED"


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_the_outputs_of_a_run_have_as_many_bytes_as_that_of_a_step(
    tenant: Tenant, more: int, fits: bool
):
    around = len('{"s0":"","s1":""}')
    rest = MOST_BYTES - around - 200_000
    child = make_workflow(tenant, [calls("s0"), calls("s1")], name="Child")
    run = begin_run(make_workflow(tenant, [runs("inner", child), calls("after", "inner", **NAMED)]))
    begin_children()
    sizes = {"s0": 200_000, "s1": rest + more}
    work(child_of(run), lambda key, item: ("SUCCEEDED", "x" * sizes[key]))
    go_on(run)

    assert failures_of(run) == ([] if fits else ["output_too_large"])


def test_an_output_that_no_key_opens_fails_the_step_above(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    child = make_workflow(tenant, [calls("s0"), calls("s1")], name="Child")
    run = begin_run(make_workflow(tenant, [runs("inner", child), calls("after", "inner", **NAMED)]))
    begin_children()
    inner = child_of(run)

    def closed(*_: Any) -> Any:
        raise DecryptionFailed("No key.")

    run_step(inner, "s0", result="x")
    monkeypatch.setattr("workflows.advance.scope.open_output", closed)
    run_step(inner, "s1", result="x")
    go_on(run)

    assert failures_of(run) == ["decryption_failed"]


@pytest.mark.parametrize(
    ("status", "reason"), [("SUCCEEDED", ""), ("FAILED", "step_failed"), ("CANCELLED", "cancelled")]
)
def test_what_has_paused_a_run_is_no_reason_of_its_end(tenant: Tenant, status: str, reason: str):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    [row] = release()
    start([row])
    with connection.cursor() as cursor:
        fence.hold(cursor)
    restored.confirm(restored.preview(), actor=ACTOR)

    finish(row, status)
    go_on(run)

    found = Execution.objects.get(pk=run)
    assert (found.status, found.reason) == (status, reason)
