"""Deletes the rows that a test has committed.

Django truncates every table after such a test, which creates the file of each table and index
again: 0.3 to 0.8 s a test. Deleting its few rows takes 3 ms.
"""

from __future__ import annotations

from django.db import connection, transaction
from django.test import TransactionTestCase

from tests.support.loops import by_the_owner

_LEASES = "INSERT INTO partition_leases (partition, epoch) SELECT generate_series(0, 255), 0"
# A table whose file is empty has no rows. Those left out are filled by migrations; tests only read
# them.
_DELETE = """
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
          AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
          AND pg_relation_size(oid) > 0
    LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
END $$
"""


def empty_instead_of_truncating() -> None:
    """Make Django call :func:`empty` after each test that commits."""
    TransactionTestCase._fixture_teardown = lambda _case: empty()  # type: ignore[attr-defined]  # the stubs leave it out


@by_the_owner
def empty() -> None:
    """Delete the rows of all other tables, and insert the partitions again."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Skips foreign keys, and the triggers that refuse to delete history.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_DELETE)
        cursor.execute(_LEASES)
