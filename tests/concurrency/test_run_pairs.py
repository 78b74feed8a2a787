"""Every operation on runs beside every other: none waits for one that waits for it.

Fault 23 of the design; ``cancel_running`` of retries has tests of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from django.db import Error

from executions.ownership.partitions import Partitions
from executions.rescue import lost_workers
from tenants.models import Tenant
from tests.concurrency.pair_barrier import run_both
from tests.concurrency.run_pair_world import OPERATIONS, World, build, check
from tests.factories import make_tenant
from workflows import stages
from workflows.advance.stage import advance

NAMES = list(OPERATIONS)


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[Error]:
    """Return the errors of advances, which are logged and tried again by another pass."""
    found: list[Error] = []

    def noting(runs: Any, *_: Any) -> Mapping[UUID, set[int]]:
        try:
            return advance(runs)
        except Error as error:
            found.append(error)
            raise

    monkeypatch.setattr(stages, "advance", noting)
    # Valkey has just been emptied: rescue would wait until it had answered for a while.
    monkeypatch.setattr(lost_workers.Silence, "_answering", lambda *_: True)
    return found


@pytest.fixture
def partitions(alpha: Tenant) -> Iterator[Partitions]:
    found = Partitions()
    found.run_once()
    yield found
    found.release_all()


@pytest.mark.parametrize("first", NAMES)
def test_an_operation_behind_its_first_lock_meets_every_other_of_those_after_it(
    partitions: Partitions, failures: list[Error], first: str
):
    for second in NAMES[NAMES.index(first) :: 2]:
        meet(partitions, first, second, after=1)

        assert failures == [], f"{first} beside {second}"


@pytest.mark.slow
@pytest.mark.parametrize("after", [None, 1, 2])
@pytest.mark.parametrize("first", NAMES)
def test_an_operation_before_its_commit_or_behind_a_lock_meets_each_other(
    partitions: Partitions, failures: list[Error], first: str, after: int | None
):
    for second in NAMES:
        meet(partitions, first, second, after=after)

        assert failures == [], f"{first} beside {second}"


def meet(partitions: Partitions, first: str, second: str, *, after: int | None) -> None:
    world: World = build(make_tenant(second), frozenset({first, second}), partitions)

    ahead, _, _ = run_both(
        lambda: OPERATIONS[first](world), lambda: OPERATIONS[second](world), after=after
    )

    # Of a deleted workflow nothing begins, is paused or retried.
    assert ahead.stopped or "removal" in (first, second), f"{first} has changed nothing"
    check(world)
