"""Attempts lose nothing on either way, and an id is still unique on the way back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection

from executions.models import Attempt
from tests.executions.old_days import forget
from tests.factories import finish, make_execution, make_tenant, release, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _with_one_index_again() -> Iterator[None]:
    yield
    call_command("migrate", "executions", verbosity=0)
    forget()


def indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT split_part(indexdef, ' USING ', 2) FROM pg_indexes"
            " WHERE schemaname = current_schema() AND tablename ~ '^attempts'"
        )
        return {row[0] for row in cursor.fetchall()}


def test_attempts_lose_nothing_on_either_way():
    alpha = make_tenant("Alpha")
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha)
    for status in ("RETRYING", "FAILED"):
        [row] = release()
        start([row])
        finish(row, status)
    before = list(Attempt.objects.order_by("id").values())
    assert len(before) == 3
    assert indexes() == {"btree (execution_id, id)"}

    call_command("migrate", "executions", "0016", verbosity=0)

    assert list(Attempt.objects.order_by("id").values()) == before
    assert indexes() == {"btree (id)", "btree (execution_id, number)"}

    call_command("migrate", "executions", verbosity=0)

    assert list(Attempt.objects.order_by("id").values()) == before
    assert indexes() == {"btree (execution_id, id)"}
