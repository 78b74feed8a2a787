"""A signal and the step that waits for it, in two sessions at once: they never miss each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from executions.models import Execution
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.support.workflow_steps import Held, claim, end
from tests.support.workflows import begin_run, calls, go_on, make_workflow, states
from workflows.advance.stage import advance
from workflows.signals import send_signal

Beside = Callable[[Callable[[], Any]], Any]
WAIT = {"key": "wait", "kind": "wait_for_event", "event": "go", "timeout_seconds": 600}


@pytest.fixture
def held(alpha: Tenant) -> Held:
    """Return the step behind which another one waits for the signal."""
    steps = [calls("a"), {**WAIT, "depends_on": ["a"]}]
    return claim(begin_run(make_workflow(alpha, steps)))["a"]


def run_of(row: Held) -> Any:
    return Execution.objects.get(pk=row.id).run_id


def test_a_signal_waits_for_the_step_that_begins_to_wait_and_releases_it(
    alpha: Tenant, beside: Beside, held: Held
):
    run_id = run_of(held)

    with transaction.atomic():
        end(held)
        advance([run_id])
        sending = beside(lambda: send_signal(alpha.id, "go", "", None, actor=ACTOR))
        assert sending.waits_for_a_lock()
    _, released = sending.join()
    go_on(run_id)

    assert released == 1
    assert states(run_id)["wait"] == "SUCCEEDED"


def test_a_step_that_begins_to_wait_waits_for_the_signal_and_has_it(
    alpha: Tenant, beside: Beside, held: Held
):
    run_id = run_of(held)

    with transaction.atomic():
        _, released = send_signal(alpha.id, "go", "", None, actor=ACTOR)
        ending = beside(lambda: end(held))
        assert ending.waits_for_a_lock()
    ending.join()
    go_on(run_id)

    assert released == 0
    assert states(run_id)["wait"] == "SUCCEEDED"
