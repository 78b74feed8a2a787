"""Sealing stored values anew beside sessions that write: no wait, and no newer value is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from operations.resealing import sealing_anew
from operations.resealing.columns import COLUMNS
from operations.resealing.sealing_anew import Resealed, counts_by_key, seal_anew
from shared.conf import conf
from shared.encryption import seal
from tasks.models import Task, TaskRevision
from tenants.models import Tenant
from tests.factories import make_task

Beside = Callable[[Callable[[], Any]], Any]
REVISIONS = COLUMNS[0]


@pytest.fixture
def two_values(alpha: Tenant) -> None:
    """Store one more value under the key of the tests."""
    make_task(alpha)


@pytest.fixture
def task(alpha: Tenant, settings: Any) -> Task:
    """Return a task whose only revision has the key of the tests, and make another one active."""
    made = make_task(alpha)
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)
    return made


@pytest.fixture
def after_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Do something between the moments in which a value is read and written."""

    def use(work: Callable[[], Any]) -> None:
        def sealed(plaintext: bytes, context: bytes) -> bytes:
            work()
            return seal(plaintext, context)

        monkeypatch.setattr(sealing_anew, "seal", sealed)

    return use


def reseal() -> Resealed:
    *_, result = seal_anew(REVISIONS)
    return result


def test_a_row_that_another_session_has_locked_keeps_its_key_and_is_not_waited_for(
    task: Task, beside: Beside
):
    with transaction.atomic():
        TaskRevision.objects.select_for_update(no_key=True).get(task=task)
        locked = beside(reseal).join(10)

    assert locked.done == 0
    assert counts_by_key(REVISIONS) == {"test": 1}
    assert reseal().done == 1


def test_a_value_that_was_replaced_since_it_was_read_stays(
    task: Task, beside: Beside, after_reading: Any
):
    replaced = seal(b"{}", b"the newer one")
    rows = TaskRevision.objects.filter(task=task)
    after_reading(lambda: beside(lambda: rows.update(sealed=replaced)).join())

    result = reseal()

    assert result.done == 0
    assert bytes(rows.get().sealed) == replaced


def test_rows_are_free_while_values_are_read_and_sealed(
    two_values: None, task: Task, beside: Beside, after_reading: Any
):
    def lock() -> int:
        with transaction.atomic():
            return len(TaskRevision.objects.select_for_update(nowait=True))

    locked: list[int] = []
    after_reading(lambda: locked.append(beside(lock).join()))

    result = reseal()

    assert (locked, result.done) == ([2, 2], 2)
