"""Empties the database behind a test that commits, of what it has written and of no more.

Django's own way truncates all tables, which makes each table's and each index's file anew: 0.3 to
0.8 s a test, where deleting a few rows takes 3 ms.
"""

from __future__ import annotations

from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

#: What migrations put in, and tests only read.
KEPT = ("django_migrations", "django_content_type", "auth_permission")
_LEASES = "INSERT INTO partition_leases (partition, epoch) SELECT generate_series(0, 255), 0"

# A table whose file is empty has had no row since it was made.
_WITH_A_FILE = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND relname <> ALL(%s) AND pg_relation_size(oid) > 0
"""


def empty_instead_of_truncating() -> None:
    """Let each test that commits end with :func:`empty`."""
    TransactionTestCase._fixture_teardown = lambda _case: empty()  # type: ignore[attr-defined]  # the stubs leave it out


def empty() -> None:
    """Delete all rows but those of :data:`KEPT`; put back what migrations have put in."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Neither keys nor the triggers that keep history as it is look at what is deleted.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_WITH_A_FILE, [list(KEPT)])
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
        cursor.execute(_LEASES)
