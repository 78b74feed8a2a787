"""Sealing stored values anew beside sessions that write: no wait, and no newer value is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from executions.resealing import sealing_anew
from executions.resealing.columns import COLUMNS
from executions.resealing.passes import rotate, run_some
from executions.resealing.retiring import retire
from executions.resealing.sealing_anew import Resealed, counts_by_key, seal_anew
from shared.data_keys import ACTIVE_SECONDS, forget_all
from shared.encryption import seal
from shared.exceptions import Conflict
from shared.sealing_contexts import Context
from shared.sql import rows
from tasks.models import Task, TaskRevision
from tenants.models import DataKey, Tenant
from tenants.services.data_keys import rotate_data_key
from tests.factories import ACTOR, make_task

Beside = Callable[[Callable[[], Any]], Any]
REVISIONS = COLUMNS[0]


@pytest.fixture
def two_values(alpha: Tenant) -> None:
    """Store one more value under the key of the tests."""
    make_task(alpha)


@pytest.fixture
def task(alpha: Tenant) -> Task:
    """Return a task whose only revision has a former data key."""
    made = make_task(alpha)
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()
    return made


@pytest.fixture
def after_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Do something between the moments in which a value is read and written."""

    def use(work: Callable[[], Any]) -> None:
        def sealed(plaintext: bytes, context: Context) -> bytes:
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
    former = DataKey.objects.exclude(replaced_at=None).get()
    assert counts_by_key(REVISIONS) == {str(former.id): 1}
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


def test_one_session_at_a_time_does_a_pass(alpha: Tenant, beside: Beside):
    resealing = rotate(alpha.id, actor=ACTOR)
    wanted = {"id": resealing.id}
    assert rows("resealing/take_turn", wanted)[0][0]

    assert beside(lambda: run_some(resealing.id)).join(60) is False
    resealing.refresh_from_db()
    assert resealing.status == "RUNNING"

    assert rows("resealing/give_turn_back", wanted)[0][0]
    assert beside(lambda: run_some(resealing.id)).join(60) is False
    resealing.refresh_from_db()
    assert resealing.status == "COMPLETED"


def test_two_rotations_at_once_make_one_key(alpha: Tenant, beside: Beside):
    with transaction.atomic():
        rotate(alpha.id, actor=ACTOR)
        second = beside(lambda: refusal_of(lambda: rotate(alpha.id, actor=ACTOR)))
        assert second.waits_for_a_lock()

    assert second.join(10) == "resealing"
    assert DataKey.objects.filter(tenant=alpha).count() == 2


def refusal_of(act: Callable[[], Any]) -> str:
    try:
        act()
    except Conflict as refused:
        return refused.code
    return ""


def test_a_key_is_kept_while_a_transaction_from_before_its_overlap_ends_may_store_its_values(
    alpha: Tenant, beside: Beside
):
    resealing = rotate(alpha.id, actor=ACTOR)
    while run_some(resealing.id):
        pass
    with transaction.atomic():
        begun = begin_of_transaction()
        former = DataKey.objects.filter(tenant=alpha).exclude(replaced_at=None)
        key = former.get()
        replaced = begun - 2 * timedelta(seconds=ACTIVE_SECONDS) + timedelta(microseconds=1)
        beside(lambda: former.update(replaced_at=replaced)).join(10)

        refused = beside(lambda: refusal_of(lambda: retire(key.id, actor=ACTOR))).join(10)

    assert refused == "key_overlaps"


def begin_of_transaction() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT transaction_timestamp()")
        found: datetime = cursor.fetchone()[0]
        return found
