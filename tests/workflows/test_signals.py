"""Signals release the steps that wait for them, now or a little later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from executions.ownership.partitions import Partitions
from shared.exceptions import InvalidInput
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
    work,
)
from workflows import signals, stages
from workflows.signals import forget_old, send_signal
from workflows.stages import fire

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def waits(key: str, *depends_on: str, **parts: Any) -> dict[str, Any]:
    step = {"key": key, "kind": "wait_for_event", "event": "paid", "depends_on": list(depends_on)}
    return {**step, **parts}


def send(tenant: Tenant, correlation: str = "", payload: Any = None, name: str = "paid") -> int:
    _, told = send_signal(tenant.id, name, correlation, payload, actor=ACTOR)
    return told


def test_a_signal_releases_every_step_that_waits_for_it_with_what_it_brings(tenant: Tenant):
    step = waits("wait", correlation="order-{{ input.order }}")
    after = calls("ship", "wait", payload="{{ steps.wait.output }}")
    task = make_workflow(tenant, [step, after])
    first, second, other = (begin_run(task, {"order": number}) for number in (17, 17, 18))

    assert send(tenant, "order-17", {"by": "card"}) == 2
    go_on(first, second, other)

    assert [states(run)["wait"] for run in (first, second, other)] == [
        "SUCCEEDED",
        "SUCCEEDED",
        "OPEN",
    ]
    work(first)
    assert payloads_of(first, 2) == [{"by": "card"}]
    assert status_of(first) == "SUCCEEDED"


@pytest.mark.parametrize("correlation", ["other", ""])
def test_a_signal_of_another_name_or_correlation_releases_nothing(tenant: Tenant, correlation: str):
    run = begin_run(make_workflow(tenant, [waits("wait", correlation="mine")]))

    assert send(tenant, correlation) == 0
    assert send(tenant, "mine", name="refunded") == 0
    assert send(make_tenant("Beta"), "mine") == 0
    go_on(run)

    assert states(run) == {"wait": "OPEN"}


def test_a_signal_that_came_since_the_run_began_releases_the_first_step_only(tenant: Tenant):
    steps = [calls("call"), waits("one", "call"), waits("two", "one")]
    run = begin_run(make_workflow(tenant, steps))
    send(tenant)

    work(run)
    go_on(run)

    assert states(run) == {"call": "SUCCEEDED", "one": "SUCCEEDED", "two": "OPEN"}


@pytest.mark.parametrize(("earlier", "state"), [(0, "OPEN"), (3600, "SUCCEEDED")])
def test_a_signal_from_before_the_run_counts_where_the_step_accepts_it(
    tenant: Tenant, earlier: int, state: str
):
    send(tenant)
    step = waits("wait", accept_earlier_seconds=earlier)
    task = make_workflow(tenant, [step, calls("more", "wait")])
    set_back_signals(60)

    run = begin_run(task)
    go_on(run)

    assert states(run)["wait"] == state


def test_signals_are_forgotten_after_a_day(tenant: Tenant):
    send(tenant)
    set_back_signals(25 * 3600)

    forget_old()

    step = waits("wait", accept_earlier_seconds=30 * 3600)
    run = begin_run(make_workflow(tenant, [step]))
    go_on(run)
    assert states(run) == {"wait": "OPEN"}


def test_a_payload_that_cannot_be_kept_is_refused(tenant: Tenant):
    with pytest.raises(InvalidInput):
        send(tenant, payload="\x00")


def set_back_signals(seconds: int) -> None:
    """Let all signals have come so much earlier."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_signals SET at = at - %s * interval '1 second'", [seconds])


@pytest.mark.parametrize("first", ["signal", "timeout"])
def test_of_a_signal_and_a_timeout_at_one_instant_the_first_counts(tenant: Tenant, first: str):
    # Fault 26 of the design.
    run = begin_run(make_workflow(tenant, [waits("wait", timeout_seconds=60)]))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE step > 0")

    # Both are told before the run is advanced.
    tellers: list[Callable[[], object]] = [lambda: send(tenant), lambda: fire(EVERYWHERE)]
    for tell in tellers if first == "signal" else reversed(tellers):
        tell()
    go_on(run)

    [end] = [one for one in ends_of(run) if one.step == 1]
    assert end.status == ("SUCCEEDED" if first == "signal" else "FAILED")
    assert status_of(run) == end.status


def test_the_sender_advances_some_runs_and_a_scheduler_the_others(
    tenant: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
):
    monkeypatch.setattr(signals, "MOST_AT_ONCE", 1)
    monkeypatch.setattr(stages, "_AT_ONCE", 1)
    partitions = Partitions()
    partitions.run_once()
    task = make_workflow(tenant, [waits("wait"), calls("ship", "wait")])
    runs = [begin_run(task) for _ in range(3)]

    def released() -> int:
        return [states(run)["wait"] for run in runs].count("SUCCEEDED")

    with django_capture_on_commit_callbacks(execute=True):
        assert send(tenant) == 3
    assert released() == 1

    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_inbox SET at = at - interval '5 seconds'")
    # It comes back soon while others wait.
    assert [stages.repair(partitions) for _ in range(3)] == [0.1, 0.1, 1.0]
    assert released() == 3
