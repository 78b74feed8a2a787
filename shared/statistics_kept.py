"""Which statistics PostgreSQL keeps of a table: for migrations.

ANALYZE reads, sorts and counts a sample of each column, again whenever a share of the rows is new.
On wide tables that fill fast this cost more than many statements. Columns that no statement
filters, joins or sorts by get no statistics.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.migrations import RunSQL

#: The share of a table that is new before ANALYZE reads it again; PostgreSQL's own is a tenth.
ANALYZE_SHARE = 0.5

_OF_ALL_DAYS = """
DO $$
DECLARE day regclass;
BEGIN
    FOR day IN SELECT inhrelid FROM pg_inherits WHERE inhparent = '{table}'::regclass
    LOOP EXECUTE format('ALTER TABLE %s {change}', day); END LOOP;
END $$
"""


def without_statistics(table: str, columns: Iterable[str]) -> RunSQL:
    """Return the step that keeps no statistics of these columns, in all parts of the table."""
    names = list(columns)

    def change(target: str) -> str:
        steps = ", ".join(f"ALTER COLUMN {name} SET STATISTICS {target}" for name in names)
        return f"ALTER TABLE {table} {steps}"

    return RunSQL(change("0"), change("-1"))


def seldom_analyzed(table: str) -> RunSQL:
    """Return the step after which a table is analyzed when ANALYZE_SHARE of it is new."""
    return RunSQL(f"ALTER TABLE {table} {_SELDOM}", f"ALTER TABLE {table} {_OFTEN}")


def days_seldom_analyzed(table: str) -> RunSQL:
    """Return the same of each day that a partitioned table has."""
    return RunSQL(
        _OF_ALL_DAYS.format(table=table, change=_SELDOM),
        _OF_ALL_DAYS.format(table=table, change=_OFTEN),
    )


_SELDOM = f"SET (autovacuum_analyze_scale_factor = {ANALYZE_SHARE})"
_OFTEN = "RESET (autovacuum_analyze_scale_factor)"
