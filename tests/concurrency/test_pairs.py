"""Every operation beside every other, the first of them standing before its commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, transaction

from executions.ledger import days
from executions.loop.clocks import database_now
from executions.models import Execution
from shared import sql
from tenants.models import Tenant
from tests.concurrency import pair_invariants
from tests.concurrency.pair_barrier import ANSWERS, run_both
from tests.concurrency.pair_operations import OPERATIONS
from tests.concurrency.pair_world import World, build, keep_ten_days
from tests.executions.old_days import forget

#: What keeps an end from moving what is not under its token any more.
GUARD = """AND e.fencing_token = o.token AND CASE
        WHEN e.status IN ('QUEUED', 'RUNNING') THEN true ELSE false END"""


#: Each two in both orders; the second order is of the long tests.
PAIRS = [
    pytest.param(first, second, marks=pytest.mark.slow if first > second else ())
    for first, second in product(OPERATIONS, repeat=2)
]


@pytest.fixture
def ground(transactional_db: None, settings: Any) -> Iterator[None]:
    keep_ten_days(settings)
    days.ensure_days_ahead(database_now())
    yield
    forget()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_operations_at_once_leave_what_must_be_true(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, first: str, second: str
):
    meet(build(alpha, frozenset({first, second}), monkeypatch), first, second)


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize("first", OPERATIONS)
def test_an_operation_that_has_begun_waits_for_no_scheduler_that_waits_for_it(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, first: str, after: int
):
    meet(build(alpha, frozenset({first, "prepare"}), monkeypatch), first, "prepare", after)


@pytest.mark.parametrize("second", OPERATIONS)
def test_a_scheduler_that_has_begun_waits_for_nothing_that_waits_for_it(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, second: str
):
    meet(build(alpha, frozenset({"prepare", second}), monkeypatch), "prepare", second, 1)


def meet(world: World, first: str, second: str, after: int | None = None) -> None:
    ahead, _, _ = run_both(
        lambda: OPERATIONS[first](world), lambda: OPERATIONS[second](world), after=after
    )

    assert ahead.stopped
    pair_invariants.check(world)
    before = pair_invariants.ended(world)

    for name in (first, second):
        repeat(world, name)

    pair_invariants.check(world)
    now = pair_invariants.ended(world)
    assert {one: now.get(one) for one in before} == before


def test_an_end_through_the_parent_of_both_parts_is_found(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    world = build(alpha, frozenset({"finish", "pause"}), monkeypatch)

    with pytest.raises(OperationalError, match="moved to another partition"):
        run_both(lambda: end_through_the_parent(world), lambda: OPERATIONS["pause"](world))


def test_an_end_that_ignores_token_and_state_is_found(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    world = build(alpha, frozenset({"rescue", "finish"}), monkeypatch)
    read = sql.statement

    def unguarded(name: str) -> str:
        text = read(name)
        if name != "complete/finish":
            return text
        assert GUARD in text
        return text.replace(GUARD, "AND CASE WHEN true THEN true ELSE false END")

    monkeypatch.setattr(sql, "statement", unguarded)

    with pytest.raises(IntegrityError, match="attempt_number_from_one"):
        run_both(lambda: OPERATIONS["rescue"](world), lambda: OPERATIONS["finish"](world))


def test_an_end_that_leaves_its_open_row_is_found(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    world = build(alpha, frozenset({"finish", "retention"}), monkeypatch)
    pair_invariants.check(world)
    before = Execution.objects.filter(id=world.first_id(world.series)).values().get()

    run_both(lambda: OPERATIONS["finish"](world), lambda: OPERATIONS["retention"](world))
    Execution.objects.create(**before)

    with pytest.raises(AssertionError):
        pair_invariants.check(world)


@transaction.atomic
def end_through_the_parent(world: World) -> None:
    """End an execution as decision 0039 forbids: by an UPDATE that moves it to the history."""
    execution = Execution.objects.filter(id=world.first_id(world.series))
    ended = {"status": "SUCCEEDED", "finished_at": database_now(), "lease_expires_at": None}
    assert execution.update(**ended) == 1


def repeat(world: World, name: str) -> None:
    with suppress(*ANSWERS):
        OPERATIONS[name](world)
