"""A database whose clocks stand still while a test's transaction lasts, at its begin.

Statements ask ``now()`` as well as ``clock_timestamp()``. Within one long transaction the two are
apart by the time that the test has taken, which says nothing about the product: there each
transaction is short.
"""

from __future__ import annotations

import pytest
from django.db import connection

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS standing;
CREATE OR REPLACE FUNCTION standing.clock_timestamp() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT pg_catalog.now()';
"""


def make_standing_clock() -> None:
    """Give the test database the clock; once, before the first test."""
    with connection.cursor() as cursor:
        cursor.execute(_SCHEMA)


@pytest.fixture(autouse=True)
def standing_clock(request: pytest.FixtureRequest) -> None:
    """Stop the clock for tests in one transaction, except those marked ``moving_clock``."""
    if request.node.get_closest_marker("moving_clock"):
        return
    marker = request.node.get_closest_marker("django_db")
    in_one = marker is not None and not marker.kwargs.get("transaction")
    if not in_one or "transactional_db" in request.fixturenames:
        return
    request.getfixturevalue("db")
    with connection.cursor() as cursor:
        # The first schema that has a function of the name gives it.
        cursor.execute("SET LOCAL search_path = standing, pg_catalog, public")
