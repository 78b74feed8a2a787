from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.db import connection
from psycopg import Cursor, sql

from executions.ledger.days import parent_of
from executions.models import Attempt
from executions.resealing import sealing_anew
from executions.resealing.columns import COLUMNS, Column
from executions.resealing.open_targets import OPEN_TARGETS, OpenTargets, close_targets
from executions.resealing.sealing_anew import _Value, seal_anew
from shared.conf import conf
from shared.encryption import seal
from shared.sealing_contexts import response_context
from shared.sql import statement
from tests.plans.conftest import DAYS, Plan

pytestmark = pytest.mark.django_db
ATTEMPTS = next(one for one in COLUMNS if one.table == "attempts")
_VALUES = 5
_A_KEY = {
    **dict.fromkeys(("id", "execution_id", "run_id"), uuid4()),
    **dict.fromkeys(("step", "take", "user_id"), 1),
}

_NUMBERED = ("idempotency_records", "task_revisions")


@contextmanager
def scans_of(column: Column, said: str = "ORDER BY", given: str = "limit") -> Iterator[list[Plan]]:
    """Gather the plans of the statements that look for values of the column, or that say this."""
    found: list[Plan] = []

    def explain(execute: Any, text: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(text, sql.Composed) and said in text.as_string() and params.get(given):
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute(sql.SQL("EXPLAIN (FORMAT JSON) ") + text, params)
                [(answer,)] = cursor.fetchall()
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            plan = Plan(column.table)
            plan.add(parsed[0]["Plan"])
            found.append(plan)
        return execute(text, params, many, context)

    with connection.execute_wrapper(explain):
        yield found


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: f"{one.table}.{one.name}")
def test_each_batch_reads_one_table_in_the_order_of_an_index(column: Column):
    with scans_of(column) as scans:
        list(seal_anew(column))

    assert scans
    for scan in scans:
        owner = column.owner.table if column.owner else None
        assert len(scan.touched) == len(scan.indexes) == (1 if owner is None else 2)
        assert not scan.sorted
        assert not scan.read_whole


@pytest.mark.parametrize("step", OPEN_TARGETS, ids=lambda one: one.title)
def test_each_batch_of_what_lies_in_clear_reads_in_the_order_of_the_ids(step: OpenTargets):
    scans: list[Plan] = []

    def explain(execute: Any, text: Any, params: Any, many: bool, context: Any) -> Any:
        if text == statement(step.find):
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + text, params)
                [(answer,)] = cursor.fetchall()
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            plan = Plan(step.title)
            plan.add(parsed[0]["Plan"])
            scans.append(plan)
        return execute(text, params, many, context)

    with connection.execute_wrapper(explain):
        list(close_targets(step))

    [scan] = scans
    assert not scan.sorted
    assert not scan.large_read_whole()
    assert step.title.partition(".")[0] not in scan.read_whole


@pytest.fixture
def old_values(settings: Any) -> None:
    """Seal values of the last day under another key than the one that seals."""
    for row in Attempt.objects.order_by("-id")[:_VALUES]:
        sealed = seal(b"{}", response_context(row.tenant_id, row.execution_id).label)
        Attempt.objects.filter(pk=row.pk, execution=row.execution_id).update(sealed_response=sealed)
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)


@pytest.mark.usefixtures("old_values")
def test_values_are_written_by_one_statement_that_finds_each_row_by_its_keys_in_one_day():
    with scans_of(ATTEMPTS, "FOR NO KEY UPDATE", "sealed") as writes:
        *_, result = seal_anew(ATTEMPTS)

    [write] = writes
    assert result.done == _VALUES
    assert len(write.days(parent_of("attempts"))) == 1
    assert len(write.indexes) == 1
    assert not write.read_whole


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: f"{one.table}.{one.name}")
def test_each_write_finds_its_rows_by_an_index(column: Column):
    one = _A_KEY | ({"id": 1} if column.table in _NUMBERED else {})
    keys = tuple(one[name] for name in column.keys)
    day = sealing_anew._places(column, None)[0].stretch

    with scans_of(column, "FOR NO KEY UPDATE", "sealed") as writes:
        assert sealing_anew._write(column, day, [_Value(keys, b"old", b"new")] * _VALUES) == 0

    [write] = writes
    assert len(write.touched - {column.table}) == (1 if day else 0)
    assert len(write.indexes) == 1
    assert not write.read_whole


@pytest.mark.usefixtures("old_values")
def test_a_day_without_values_of_an_old_key_is_read_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sealing_anew, "_AT_ONCE", 2)

    with scans_of(ATTEMPTS) as scans:
        *_, result = seal_anew(ATTEMPTS)

    read = [day for scan in scans for day in scan.days(parent_of("attempts"))]
    assert result.done == _VALUES
    assert len(set(read)) >= DAYS
    assert len(read) == len(set(read)) + _VALUES // 2
