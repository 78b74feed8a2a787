"""The tables of workflows come and go; the days that are there get theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from executions.ledger import days
from executions.models import Execution
from tests.executions.old_days import ago, days_of, forget, make_days, name_of, put, tables
from tests.factories import make_tenant
from tests.support.migrating import ledger

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _forward_again() -> Iterator[None]:
    yield
    call_command("migrate", "executions", verbosity=0)
    forget()


def test_executions_stay_as_they_are_and_days_get_their_tables():
    make_days(20)
    put(make_tenant("Alpha"), 20)
    before = ledger()

    call_command("migrate", "executions", "0021", verbosity=0)
    assert ledger() == before
    assert f"runs_{name_of(20)}" not in tables()
    call_command("migrate", "executions", "0022", verbosity=0)

    assert ledger() == before
    assert {f"runs_{name_of(20)}", f"steps_{name_of(20)}"} <= set(tables())
    assert name_of(20) in days_of("runs")
    assert days.missing_days([ago(20)]) == []
    assert Execution.objects.count() == len(before)
