"""Open work by the thousand, copied from what there is."""

from __future__ import annotations

from django.db import connection


def multiply(which: str = "true") -> None:
    """Let three hundred times as much wait as there is, of the rows of a condition.

    Of too few rows a plan would show nothing: a small table may be read whole.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO open_executions SELECT (jsonb_populate_record(e, jsonb_build_object("
            "'id', left(e.id::text, 14) || right(gen_random_uuid()::text, 22)))).*"
            f" FROM open_executions e, generate_series(1, 300) WHERE {which}"
        )
        assert cursor.rowcount > 1000, f"{cursor.rowcount} rows wait"
