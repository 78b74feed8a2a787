"""The tables that have rows of a tenant, by the catalogue: also those without a model."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

#: What stays of a tenant.
STAYS = {"audit_entries", "audit_chains", "erasures"}
_TABLES = """
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attname = 'tenant_id'
"""


def tables_of_tenants() -> set[str]:
    """Return the tables of the catalogue whose rows name a tenant; not the days of a table."""
    with connection.cursor() as cursor:
        cursor.execute(f"{_TABLES} AND NOT c.relispartition")
        return {table for table, _ in cursor.fetchall()}


def tables_with(tenant_id: UUID) -> set[str]:
    """Return the tables of the catalogue that have rows of the tenant."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        for table, column in cursor.fetchall():
            query = f'SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}" = %s)'
            cursor.execute(query, [tenant_id])
            if cursor.fetchone()[0]:
                found.add(table)
    return found
