from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from django.db import connection
from psycopg import Cursor, sql

from executions.ledger.days import parent_of
from executions.models import Attempt
from operations.resealing import sealing_anew
from operations.resealing.columns import COLUMNS, Column
from operations.resealing.sealing_anew import seal_anew
from shared.conf import conf
from shared.encryption import seal
from shared.sealing_contexts import response_context
from tests.plans.conftest import DAYS, Plan

pytestmark = pytest.mark.django_db
ATTEMPTS = next(one for one in COLUMNS if one.table == "attempts")
_VALUES = 5


@contextmanager
def scans_of(column: Column) -> Iterator[list[Plan]]:
    """Gather the plans of the statements that look for values of the column."""
    found: list[Plan] = []

    def explain(execute: Any, text: Any, params: Any, many: bool, context: Any) -> Any:
        if (
            isinstance(text, sql.Composed)
            and "ORDER BY" in text.as_string()
            and params.get("limit")
        ):
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
        assert len(scan.touched) == len(scan.indexes) == 1
        assert not scan.sorted
        assert not scan.read_whole


def test_a_day_without_values_of_an_old_key_is_read_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    for row in Attempt.objects.order_by("-id")[:_VALUES]:
        sealed = seal(b"{}", response_context(row.execution_id))
        Attempt.objects.filter(pk=row.pk, execution=row.execution_id).update(sealed_response=sealed)
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)
    monkeypatch.setattr(sealing_anew, "_AT_ONCE", 2)

    with scans_of(ATTEMPTS) as scans:
        *_, result = seal_anew(ATTEMPTS)

    read = [day for scan in scans for day in scan.days(parent_of("attempts"))]
    assert result.done == _VALUES
    assert len(set(read)) >= DAYS
    assert len(read) == len(set(read)) + _VALUES // 2
