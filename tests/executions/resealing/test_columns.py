"""The list of columns with sealed values is complete: a new one joins it, or this fails."""

from __future__ import annotations

import pytest
from django.db import connection

from executions.resealing.columns import COLUMNS

pytestmark = pytest.mark.django_db

#: A table of a day belongs to the one of all days; of `executions`, its two parts count.
_BYTES = """
    SELECT c.relname, a.attname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND c.relname !~ '_[0-9]{8}$'
      AND a.atttypid = 'bytea'::regtype
      AND NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class d ON d.oid = i.inhrelid
                      WHERE i.inhparent = c.oid AND d.relname !~ '_[0-9]{8}$')
"""


#: Columns of bytes that no data key seals, and why.
NOT_SEALED = {
    ("data_keys", "wrapped"): "wrapped by the master key; `keys rotate` wraps it anew",
    ("workflow_runs", "states"): "the states of steps, one byte each",
    ("workflow_runs", "takes"): "the takes of steps, one byte each",
    ("ended_workflow_runs", "states"): "as of open runs",
    ("ended_workflow_runs", "takes"): "as of open runs",
    ("api_keys", "key_hash"): "a hash",
    ("audit_entries", "hash"): "a hash",
    ("audit_chains", "hash"): "a hash",
    ("idempotency_records", "fingerprint"): "a hash",
    ("calendar_feeds", "token_hash"): "a hash",
    ("invitations", "token_hash"): "a hash",
    ("recovery_codes", "code_hash"): "a hash",
}


def test_every_column_of_bytes_is_in_the_list_or_says_why_not():
    with connection.cursor() as cursor:
        cursor.execute(_BYTES)
        found = cursor.fetchall()

    listed = {(one.table, one.name) for one in COLUMNS}
    assert not listed & set(NOT_SEALED)
    assert listed | set(NOT_SEALED) == set(found)


def test_the_list_names_columns_for_rows_and_contexts_that_are_there():
    with connection.cursor() as cursor:
        for one in COLUMNS:
            found = connection.introspection.get_table_description(cursor, one.table)
            owner = {one.owner.column} if one.owner else set()
            assert {*one.keys, *one.parts, *owner, one.name} <= {column.name for column in found}
