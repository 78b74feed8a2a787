"""Every place of the database and of Redis that has a text, in clear or sealed."""

from __future__ import annotations

from django.db import connection

from executions.resealing.columns import COLUMNS
from executions.resealing.sealing_anew import tenant_of_row
from shared.encryption import DecryptionFailed, open_sealed
from shared.redis_client import client as redis_client
from shared.sealing_contexts import Context

_COLUMNS = """
SELECT c.relname, a.attname, t.typname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  AND (t.typcategory = 'S' OR t.typname IN ('jsonb', 'json', 'bytea', '_text', '_varchar'))
"""


def clear_places_of(text: str) -> set[str]:
    """Return every table and column that has the text as it is."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        columns = cursor.fetchall()
        for table, column, kind in columns:
            shown = f"encode(\"{column}\", 'escape')" if kind == "bytea" else f'"{column}"::text'
            query = f'SELECT EXISTS (SELECT FROM "{table}" WHERE position(%s IN {shown}) > 0)'
            cursor.execute(query, [text])
            if cursor.fetchone()[0]:
                found.add(f"{table}.{column}")
    return found


def places_of(text: str) -> set[str]:
    """Return every table and column that has the text, as it is or sealed."""
    found = clear_places_of(text)
    with connection.cursor() as cursor:
        for column in COLUMNS:
            tenant = tenant_of_row(column).as_string()
            names = ", ".join((tenant, *column.parts, column.name))
            query = f"SELECT {names} FROM {column.table} t WHERE {column.name} IS NOT NULL"
            cursor.execute(query)
            for tenant_id, *parts, sealed in cursor.fetchall():
                if text in _opened(bytes(sealed), column.context_of(tenant_id, tuple(parts))):
                    found.add(f"{column.table}.{column.name}")
    return found


def _opened(sealed: bytes, context: Context) -> str:
    try:
        return open_sealed(sealed, context).decode("utf-8", "replace")
    except DecryptionFailed:
        return ""


def in_redis(text: str) -> list[bytes]:
    """Return the keys of Redis that have the text in their value."""
    server = redis_client()
    return [key for key in server.scan_iter() if text.encode() in (server.dump(key) or b"")]
