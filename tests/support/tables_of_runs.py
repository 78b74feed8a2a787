"""The tables that runs of workflows have, also those without a model."""

from __future__ import annotations

from django.db import connection

_TABLES = (
    *("workflow_runs", "ended_workflow_runs", "workflow_steps", "workflow_fans"),
    *("workflow_waits", "workflow_inbox", "workflow_signals", "workflow_retries"),
)


def tables_with_rows() -> list[str]:
    """Return the tables of runs that have rows."""
    found = []
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table})")
            row = cursor.fetchone()
            found += [table] if row and row[0] else []
    return found
