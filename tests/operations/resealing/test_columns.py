"""The list of columns with sealed values is complete: a new one joins it, or this fails."""

from __future__ import annotations

import pytest
from django.db import connection

from operations.resealing.columns import COLUMNS

pytestmark = pytest.mark.django_db

#: A table of a day belongs to the one of all days; of `executions`, its two parts count.
_SEALED = """
    SELECT c.relname, a.attname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND c.relname !~ '_[0-9]{8}$'
      AND a.atttypid = 'bytea'::regtype AND a.attname LIKE 'sealed%'
      AND NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class d ON d.oid = i.inhrelid
                      WHERE i.inhparent = c.oid AND d.relname !~ '_[0-9]{8}$')
"""


def test_every_column_with_sealed_values_is_in_the_list():
    with connection.cursor() as cursor:
        cursor.execute(_SEALED)
        found = cursor.fetchall()

    assert sorted((one.table, one.name) for one in COLUMNS) == sorted(found)


def test_the_list_names_columns_for_rows_and_contexts_that_are_there():
    with connection.cursor() as cursor:
        for one in COLUMNS:
            found = connection.introspection.get_table_description(cursor, one.table)
            assert {*one.keys, *one.parts, one.name} <= {column.name for column in found}
