from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection

from executions.models import Destination, Execution
from tests.factories import make_execution, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

migration = import_module("executions.migrations.0011_one_name_of_destinations")


@pytest.fixture(autouse=True)
def _as_the_ledger_was() -> Iterator[None]:
    """Give the floor, which a later migration takes away."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE ledger_floor AS SELECT %s::uuid AS floor_id", [UUID(int=0)])
        yield
        cursor.execute("DROP TABLE ledger_floor")


def run() -> None:
    for _ in range(2):
        with connection.schema_editor() as editor:
            migration.write_names(apps, editor)


def test_no_limit_of_any_spelling_is_lost() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    rows = [
        (alpha, "example.com", 10, None, False),
        (alpha, "example.com:443", 5, 2.5, False),
        (alpha, "example.com.", None, 7.0, True),
        (alpha, "faß.de", 3, None, True),
        (alpha, "example.com:8443", 1, None, True),
        (beta, "example.com:0443", 9, None, False),
        (beta, "not a host", 8, None, True),
    ]
    for tenant, host, most, rate, breaker in rows:
        Destination.objects.create(
            tenant=tenant, host=host, max_in_flight=most, rate_per_second=rate, breaker=breaker
        )

    run()

    columns = ("tenant", "host", "max_in_flight", "rate_per_second", "breaker")
    assert set(Destination.objects.values_list(*columns)) == {
        (alpha.id, "example.com", 5, 2.5, True),
        (alpha.id, "xn--fa-hia.de", 3, None, True),
        (alpha.id, "example.com:8443", 1, None, True),
        (beta.id, "example.com", 9, None, False),
        (beta.id, "not a host", 8, None, True),
    }


def test_work_that_has_not_ended_is_counted_under_the_name() -> None:
    alpha = make_tenant("Alpha")
    waiting, running = make_execution(alpha), make_execution(alpha, "RUNNING")
    ended = make_execution(alpha, "SUCCEEDED")
    Execution.objects.update(destination="EXAMPLE.com:443")

    run()

    found = dict(Execution.objects.values_list("id", "destination"))
    assert found == {
        waiting.id: "example.com",
        running.id: "example.com",
        ended.id: "EXAMPLE.com:443",
    }
