"""What is done lies in front, and looking past it is dear: nothing is hidden by that for long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, connection

from executions.dispatch.stage import Dispatcher
from executions.loop import looks, lower_bounds
from executions.loop.clocks import database_now
from executions.loop.lower_bounds import NEVER, LowerBounds
from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.factories import make_task, once
from tests.support.beats import beat
from tests.support.clocks import BETWEEN, Clock, clock

__all__ = ["clock"]


@pytest.fixture
def partitions(db: None) -> Partitions:
    found = Partitions()
    found.run_once()
    return found


@pytest.fixture
def dispatcher(partitions: Partitions) -> Dispatcher:
    beat("w1", slots=100)
    return Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)


def make_due(partitions: Partitions, tenant: Tenant, **definition: Any) -> Execution:
    """Write an execution that is long due, unheard."""
    task = make_task(tenant, once(database_now() - timedelta(minutes=1), **definition))
    materialize.run_once(partitions)
    return Execution.objects.get(task=task)


def status(execution: Execution) -> str:
    return Execution.objects.get(id=execution.id).status


def test_work_below_the_bound_is_handed_out_by_a_look_at_its_part(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher, clock: Clock
):
    first = make_due(partitions, alpha)
    dispatcher.run_once()
    dispatcher.run_once()
    clock.step = 0.0

    hidden = make_due(partitions, alpha, priority=1)
    counts = dispatcher.run_once()

    assert (status(first), status(hidden), counts.done) == ("QUEUED", "PENDING", 0)
    # The next look comes when it may be at a part, not when something is expected.
    assert counts.next_in <= dispatcher.rooms.bounds.next_in <= BETWEEN
    clock.now += BETWEEN
    dispatcher.run_once()
    assert status(hidden) == "QUEUED"


@pytest.mark.parametrize("priority", range(10))
def test_work_that_is_announced_is_handed_out_at_once(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher, priority: int
):
    make_due(partitions, alpha, priority=priority)
    dispatcher.run_once()
    dispatcher.run_once()
    late = make_due(partitions, alpha, priority=priority)

    dispatcher.rooms.bounds.lower(late.due_at)
    dispatcher.run_once()

    assert status(late) == "QUEUED"


def test_what_a_claim_could_not_publish_is_claimed_again(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    dispatcher.run_once()
    late = make_due(partitions, alpha)
    dispatcher.rooms.bounds.lower(late.due_at)
    with monkeypatch.context() as patched:
        patched.setattr(dispatcher.sending, "publish", _fail)
        with pytest.raises(RuntimeError):
            dispatcher.run_once()
    assert status(late) == "PENDING"

    dispatcher.run_once()

    assert status(late) == "QUEUED"


def _fail(queue: str, message: dict[str, Any]) -> None:
    raise RuntimeError("the broker is broken")


def test_work_of_a_pool_that_gets_workers_is_looked_for_at_once(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher
):
    other = make_due(partitions, alpha)
    Execution.objects.update(pool="batch")
    dispatcher.run_once()
    dispatcher.run_once()
    assert status(other) == "PENDING"

    beat("w2", slots=10, pool="batch")
    dispatcher.run_once()

    assert status(other) == "QUEUED"


def test_a_task_below_the_bound_is_planned_by_a_look_at_its_part(
    alpha: Tenant, partitions: Partitions, clock: Clock
):
    bounds = LowerBounds()
    materialize.run_once(partitions, bounds)
    clock.step = 0.0
    task = make_task(alpha, once(database_now() - timedelta(minutes=1)))

    hidden = materialize.run_once(partitions, bounds)

    assert (hidden.done, hidden.next_in <= bounds.next_in) == (0, True)
    clock.now += BETWEEN
    # The look at its part finds it, and the next pass takes it.
    assert materialize.run_once(partitions, bounds).next_in == 0.0
    assert materialize.run_once(partitions, bounds).done == 1
    assert Execution.objects.filter(task=task).exists()


def test_a_task_that_is_announced_is_planned_at_once(alpha: Tenant, partitions: Partitions):
    bounds = LowerBounds()
    materialize.run_once(partitions, bounds)
    make_task(alpha, once(database_now() - timedelta(seconds=5)))

    bounds.heard()

    assert materialize.run_once(partitions, bounds).done == 1


def test_a_lease_below_the_bound_is_judged_by_a_look_at_its_part(
    alpha: Tenant, partitions: Partitions, clock: Clock
):
    rescuer = Rescuer(partitions)
    found = [make_due(partitions, alpha) for _ in range(2)]
    beat("w1", slots=100)
    Dispatcher(partitions, lambda queue, message: None, active_signing_secrets).run_once()
    rescuer.run_once()
    rescuer.run_once()
    clock.step = 0.0
    ended = database_now() - timedelta(minutes=1)
    Execution.objects.filter(id=found[0].id).update(lease_expires_at=ended)

    rescuer.run_once()

    assert [status(one) for one in found] == ["QUEUED", "QUEUED"]
    clock.now += BETWEEN
    rescuer.run_once()
    assert [status(one) for one in found] == ["PENDING", "QUEUED"]


def test_room_is_counted_from_the_first_lease_on(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher
):
    for _ in range(3):
        make_due(partitions, alpha)
    dispatcher.run_once()

    counts = [dispatcher.rooms._leased((), 1).by_pool for _ in range(3)]

    assert counts == [{"default": 3}] * 3
    assert dispatcher.rooms._leases.since[0] > NEVER


def test_a_lease_below_the_bound_is_counted_after_a_look_at_its_part(
    alpha: Tenant, partitions: Partitions, dispatcher: Dispatcher, clock: Clock
):
    found = [make_due(partitions, alpha) for _ in range(3)]
    dispatcher.run_once()

    def counted() -> int:
        return dispatcher.rooms._leased((), 1).by_pool["default"]

    assert [counted() for _ in range(3)] == [3, 3, 3]
    clock.step = 0.0
    ended = database_now() - timedelta(hours=1)
    Execution.objects.filter(id=found[0].id).update(lease_expires_at=ended)
    assert counted() == 2
    clock.now += BETWEEN
    # This count looks at the part, and the next one has what was hidden in it.
    assert [counted() for _ in range(2)] == [2, 3]


def in_force(clock: Clock) -> LowerBounds:
    """Return bounds that ask for the look at a part."""
    bounds = LowerBounds()
    bounds.begin()
    bounds.end([database_now()], database_now())
    clock.step = 0.0
    assert bounds.in_force
    return bounds


def test_a_look_at_a_part_that_takes_long_is_given_up(
    partitions: Partitions, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    bounds, [before] = in_force(clock), ask("SHOW statement_timeout")
    with monkeypatch.context() as patched:
        patched.setattr(lower_bounds, "_MOST_SECONDS", 0.1)
        patched.setattr(looks, "_first_lease", lambda *_: ask("SELECT pg_sleep(60)"))

        assert looks.sweep_leases(partitions.held, bounds) is None

    assert ask("SHOW statement_timeout") == [before]
    # The next one begins where this one began, and ends earlier.
    begin, end = bounds.part() or (None, None)
    assert (begin, end) == (NEVER, bounds._highest - timedelta(minutes=10))


def test_a_look_at_a_part_leaves_no_limit_behind(partitions: Partitions, clock: Clock):
    bounds, [before] = in_force(clock), ask("SHOW statement_timeout")

    looks.sweep_leases(partitions.held, bounds)

    assert ask("SHOW statement_timeout") == [before]
    # Looked at to its end.
    assert (bounds._part, bounds.in_force) == ((NEVER, NEVER), False)


def test_another_error_of_a_look_at_a_part_is_none_of_its_time(
    partitions: Partitions, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    bounds = in_force(clock)
    monkeypatch.setattr(looks, "_first_lease", lambda *_: ask("SELECT pg_sleep('no number')"))

    with pytest.raises(DataError):
        looks.sweep_leases(partitions.held, bounds)


def ask(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [row[0] for row in cursor.fetchall()]
