"""Unfinished executions get the priority of their task, on either way within their band."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection

from executions.models import Execution
from tests.executions.old_days import forget
from tests.factories import make_execution, make_tenant, once
from tests.support.migrating import indexes, ledger

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _with_priorities_again() -> Iterator[None]:
    yield
    call_command("migrate", "executions", verbosity=0)
    forget()


def test_unfinished_work_gets_its_priority_and_what_has_ended_stays():
    alpha = make_tenant("Alpha")
    prepared = [make_execution(alpha, body=once(priority=n)) for n in range(10)]
    backfilled = make_execution(alpha)
    ended = make_execution(alpha, "SUCCEEDED")
    Execution.objects.filter(id=backfilled.id).update(priority=8)
    Execution.objects.filter(id=ended.id).update(priority=2)
    before, made = ledger(), indexes()

    call_command("migrate", "executions", "0015", verbosity=0)

    with connection.cursor() as cursor:
        cursor.execute("SELECT id, band FROM executions ORDER BY id")
        bands = dict(cursor.fetchall())
    assert [bands[row.id] for row in prepared] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert (bands[backfilled.id], bands[ended.id]) == (2, 0)

    call_command("migrate", "executions", verbosity=0)

    found = {row.id: (row.priority, row.band) for row in Execution.objects.all()}
    assert [found[row.id] for row in prepared] == [(n, None) for n in range(10)]
    assert (found[backfilled.id], found[ended.id]) == ((7, None), (5, 0))
    assert (ledger(), indexes()) == (before, made)
