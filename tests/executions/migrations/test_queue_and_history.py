"""Executions part into open ones and history, and come together again; no row is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from executions.loop.clocks import database_now
from executions.models import Execution
from shared.ids import execution_id
from tests.executions.old_days import forget, put
from tests.factories import make_execution, make_tenant
from tests.support.migrating import indexes, ledger

pytestmark = pytest.mark.django_db(transaction=True)

_STATES = ("PENDING", "QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")


@pytest.fixture(autouse=True)
def _parted_again() -> Iterator[None]:
    yield
    call_command("migrate", "executions", verbosity=0)
    forget()


def number(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        found: int = cursor.fetchone()[0]
        return found


def test_nothing_is_lost_on_either_way(capsys: pytest.CaptureFixture[str]):
    alpha = make_tenant("Alpha")
    for status in _STATES:
        make_execution(alpha, status)
    put(alpha, 20)
    # Prepared for a day that has no table yet.
    ahead = make_execution(alpha)
    far = database_now() + timedelta(days=60)
    Execution.objects.filter(id=ahead.id).update(id=execution_id(ahead.task_id, far))
    before, parted = ledger(), indexes()

    call_command("migrate", "executions", "0014", verbosity=0)

    assert ledger() == before
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT floor_id <= (SELECT min(e.id::text)::uuid FROM executions e"
            " WHERE e.finished_at IS NULL) FROM ledger_floor"
        )
        assert cursor.fetchall() == [(True,)]

    call_command("migrate", "executions", verbosity=0)

    assert ledger() == before
    assert indexes() == parted
    assert number("open_executions") == 4
    assert number("ended_executions") == len(before) - 4
    assert "4 unfinished executions have moved" in capsys.readouterr().out


def test_an_installation_without_executions_parts_too():
    call_command("migrate", "executions", "0014", verbosity=0)
    call_command("migrate", "executions", verbosity=0)

    assert number("executions") == 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('ledger_floor')")
        assert cursor.fetchall() == [(None,)]
