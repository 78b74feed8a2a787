"""The clock of these tests stands: what a statement is told does not depend on a test's speed."""

from __future__ import annotations

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from tests.support.transaction_time import transaction_now


@pytest.mark.django_db
def test_all_clocks_of_a_transaction_tell_its_begin() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.002)")

    assert database_now() == transaction_now()


@pytest.mark.django_db(transaction=True)
def test_the_clock_goes_where_transactions_are_the_products() -> None:
    before = database_now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.002)")

    assert database_now() > before
