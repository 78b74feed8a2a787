"""The ledger tells of runs when the transaction that ended their steps commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from executions import run_signals

RUN, OTHER = UUID(int=1), UUID(int=2)


@pytest.fixture
def heard() -> Iterator[list[list[UUID]]]:
    """Return what is told of from here on, in place of those who listen."""
    found: list[list[UUID]] = []

    def listen(runs: list[UUID], **_: Any) -> None:
        found.append(runs)

    before, run_signals.runs_told.receivers = run_signals.runs_told.receivers, []
    run_signals.runs_told.connect(listen)
    yield found
    run_signals.runs_told.receivers = before
    run_signals.runs_told.sender_receivers_cache.clear()


@pytest.mark.django_db(transaction=True)
def test_each_run_is_told_of_once_after_the_commit(heard: list[list[UUID]]):
    with transaction.atomic():
        run_signals.tell([OTHER, None, RUN, OTHER])
        assert heard == []

    assert heard == [[RUN, OTHER]]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_told_of_ends_that_are_no_steps(heard: list[list[UUID]]):
    with transaction.atomic():
        run_signals.tell([None, None])

    assert heard == []


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_rolls_back_tells_nothing(heard: list[list[UUID]]):
    with transaction.atomic():
        run_signals.tell([RUN])
        transaction.set_rollback(True)

    assert heard == []
