"""Puts a row of a tenant into every table of the catalogue, whatever its columns mean.

Checks are dropped and triggers are off, both for the test's transaction only: what a row says does
not matter, only whose it is.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from psycopg import sql

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), a.attidentity = 'a'
FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  AND (a.attnotnull OR a.attname = 'tenant_id')
"""
_CHECKS = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND coninhcount = 0
"""
_VALUES: dict[str, str] = {
    "uuid": "uuidv7()",
    "timestamp with time zone": "now()",
    "date": "current_date",
    "time without time zone": "'08:00'",
    "boolean": "false",
    "jsonb": "'{}'",
    "bytea": "''",
    "xid8": "pg_current_xact_id()",
    "double precision": "1",
    "numeric": "1",
}
_NUMBERS = ("smallint", "integer", "bigint")
#: By which the ledger is divided.
_STATUS = {"open_executions": "PENDING", "ended_executions": "SUCCEEDED", "executions": "PENDING"}


def begin() -> None:
    """Switch triggers off and drop the checks, until the test's transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_CHECKS)
        for table, name in cursor.fetchall():
            text = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}")
            cursor.execute(text.format(sql.SQL(table), sql.Identifier(name)))


def insertion(table: str, tenant_column: str, tenant: UUID, **given: Any) -> sql.Composed:
    """Return the statement that puts a row of the tenant into the table."""
    values: dict[str, sql.Composable] = {}
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [table])
        for name, kind, is_always_made in cursor.fetchall():
            if not is_always_made:
                values[name] = sql.SQL(_value(table, name, kind))
    values |= {name: sql.Literal(value) for name, value in given.items()}
    if tenant_column:
        values[tenant_column] = sql.Literal(tenant)
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(values.values()),
    )


def put(table: str, tenant_column: str, tenant: UUID, **given: Any) -> None:
    """Put a row of the tenant into the table."""
    with connection.cursor() as cursor:
        cursor.execute(insertion(table, tenant_column, tenant, **given))


def _value(table: str, name: str, kind: str) -> str:
    if name == "status" and table in _STATUS:
        return f"'{_STATUS[table]}'"
    if kind in _NUMBERS:
        return str(uuid4().int % 30_000)
    if kind.endswith("[]"):
        return "'{}'"
    return _VALUES.get(kind, "''")
