"""What is stored of a tenant, and which of it a call has changed."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from django.apps import apps
from django.db import connection, models

from tenants.models import Tenant

#: What of a row may change by being asked for.
_NOTED = {"last_used_at", "last_used_address", "heartbeat_at"}
#: Written whenever a table is made, altered or truncated.
_CATALOG = "pg_class"
# PostgreSQL counts what a transaction writes for its statistics, also what a savepoint takes back.
# What it writes to a partition is counted for its parents, too.
_WRITTEN = """
WITH counted AS MATERIALIZED (
    SELECT oid, pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid)
        + pg_stat_get_xact_tuples_deleted(oid) AS rows
    FROM pg_class WHERE relkind = 'r'
)
SELECT named.relname, sum(counted.rows)::bigint
FROM counted
CROSS JOIN LATERAL (
    SELECT counted.oid UNION SELECT relid::oid FROM pg_partition_ancestors(counted.oid)
) of_table
JOIN pg_class named ON named.oid = of_table.oid
WHERE counted.rows > 0
GROUP BY named.relname
"""


class StoredRows:
    """Tells which rows of a tenant one transaction has changed.

    It is asked after almost every call, and most calls write nothing: only the tables that the
    transaction has written since :meth:`remember` are read again.
    """

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._counts = _written()
        self._rows = rows_of(tenant)

    def remember(self) -> None:
        """Take the rows as they are now for unchanged; not within a block that is undone.

        PostgreSQL does not count what a savepoint takes back once more: rows that were remembered
        before that would be taken for what is stored after it.
        """
        counts = _written()
        self._rows |= self._read(counts)
        self._counts = counts

    def changed(self) -> list[str]:
        """Return the models whose rows are not those that were remembered."""
        return self._differing(self._read(_written()))

    def missed(self) -> list[str]:
        """Return the same, of all tables: also what another session has committed."""
        return self._differing(rows_of(self._tenant))

    def _read(self, counts: dict[str, int]) -> dict[str, str | None]:
        known = self._counts
        written = {table for table, count in counts.items() if known.get(table, 0) != count}
        if not written:
            return {}
        return rows_of(self._tenant, None if _CATALOG in written else written)

    def _differing(self, found: dict[str, str | None]) -> list[str]:
        return [label for label, digest in found.items() if digest != self._rows[label]]


def rows_of(tenant: Tenant, tables: Collection[str] | None = None) -> dict[str, str | None]:
    """Return a digest of the tenant's stored rows by model, so that a difference shows a change.

    One statement for all tables, or for those named.
    """
    parts = _digests()
    chosen = [parts[table] for table in parts if tables is None or table in tables]
    if not chosen:
        return {}
    statement = "WITH noted (names) AS (VALUES (%s::text[])) " + " UNION ALL ".join(chosen)
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(_NOTED), *[tenant.id] * len(chosen)])
        return dict(cursor.fetchall())


def _written() -> dict[str, int]:
    """Return how many rows of each table the transaction has written."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        return dict(cursor.fetchall())


@cache
def _digests() -> dict[str, str]:
    """Return by table the query of its digest, which asks for the tenant once."""
    conditions = {model: _condition(model) for model in apps.get_models()}
    return {
        model._meta.db_table: f"SELECT {model._meta.label!r},"
        " md5(string_agg(line, ',' ORDER BY line))"
        f" FROM (SELECT (to_jsonb(t) - noted.names)::text AS line"
        f" FROM {model._meta.db_table} t, noted WHERE {mine}) x"
        for model, mine in conditions.items()
        if mine
    }


def _condition(model: type[models.Model]) -> str:
    """Return what a tenant's rows of the model fulfil; "" for a model of no tenant."""
    if model is Tenant:
        return "id = %s"
    if {field.name for field in model._meta.concrete_fields} & {"tenant", "tenant_id"}:
        return "tenant_id = %s"
    for field in model._meta.concrete_fields:
        parent = field.related_model
        if isinstance(parent, type) and parent is not model and (mine := _condition(parent)):
            table, key = parent._meta.db_table, parent._meta.pk.column
            return f"{field.column} IN (SELECT {key} FROM {table} WHERE {mine})"
    return ""
