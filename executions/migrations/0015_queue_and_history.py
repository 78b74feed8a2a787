# What is unfinished and what has ended part ways: executions become one table of two parts, which
# PostgreSQL keeps apart by status. Everything is stopped meanwhile; cut off anywhere, nothing has
# changed, and the next run begins again.

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

from django.db import migrations
from psycopg import sql

_ENDED = "status IN ('CANCELLED', 'FAILED', 'SKIPPED', 'SUCCEEDED')"
#: Days of what was prepared ahead have a table already; a day without one is made on the way back.
_MISSING_DAYS = """
SELECT DISTINCT to_char(
    to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
    AT TIME ZONE 'UTC', 'YYYYMMDD')
FROM open_executions
EXCEPT SELECT right(relname, 8) FROM pg_inherits JOIN pg_class ON oid = inhrelid
WHERE inhparent = 'executions'::regclass
"""
_FLOOR = """
INSERT INTO ledger_floor (id, floor_id) SELECT 1, coalesce(
    (SELECT id FROM executions WHERE NOT {ended} ORDER BY id LIMIT 1),
    (lpad(to_hex((extract(epoch FROM date_trunc('day', now(), 'UTC')) * 1000)::bigint), 12, '0')
     || repeat('0', 20))::uuid)
"""


def _statements(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _part(apps: Any, schema_editor: Any) -> None:
    """Move what is unfinished, prove day by day that the rest has ended, and join both."""
    began = monotonic()
    before, after = _statements("0015_queue_and_history.sql").split(
        "-- Then the days are proven.\n"
    )
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(before)
        cursor.execute("SELECT count(*) FROM open_executions")
        if moved := cursor.fetchone()[0]:
            _say(began, f"{moved} unfinished executions have moved")
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'ended_executions'::regclass ORDER BY 1"
        )
        days = [row[0] for row in cursor.fetchall()]
        for number, day in enumerate(days, 1):
            # So that joining the parts need not read all of it again.
            text = sql.SQL("ALTER TABLE {} ADD CONSTRAINT only_ended CHECK (" + _ENDED + ")")
            cursor.execute(text.format(sql.Identifier(day)))
            _say(began, f"{day} is proven to have ended, {number} of {len(days)} days")
        cursor.execute(after)
        for day in days:
            text = sql.SQL("ALTER TABLE {} DROP CONSTRAINT only_ended")
            cursor.execute(text.format(sql.Identifier(day)))


def _join(apps: Any, schema_editor: Any) -> None:
    """Bring what is unfinished back into the days."""
    began = monotonic()
    before, after = _statements("0015_queue_and_history.down.sql").split("-- Then it goes back.\n")
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(before)
        cursor.execute(_MISSING_DAYS)
        for (day,) in cursor.fetchall():
            cursor.execute(_statements("0015_day.sql").replace("YYYYMMDD", day))
        cursor.execute("INSERT INTO executions SELECT * FROM open_executions")
        _say(began, f"{cursor.rowcount} unfinished executions have gone back")
        cursor.execute(after)
        _say(began, "the indexes of what is unfinished are made again")


def _write_floor(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_FLOOR.format(ended=_ENDED))


def _say(began: float, what: str) -> None:
    print(f"\n    {monotonic() - began:7.1f} s  {what}", end="", flush=True)  # noqa: T201


class Migration(migrations.Migration):
    dependencies = [("executions", "0014_queued_attempts")]

    operations = [
        # Both ways may take longer than a statement of the product.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.RunPython(migrations.RunPython.noop, _write_floor),
        migrations.DeleteModel("LedgerFloor"),
        migrations.RunPython(_part, _join),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("execution", name)
                for name in (
                    "executions_due_idx",
                    "executions_parked_idx",
                    "executions_pull_idx",
                    "executions_held_idx",
                    "executions_leased_idx",
                    "executions_unsuccessful_idx",
                    "executions_with_error_idx",
                    "executions_of_pool_idx",
                    "executions_gated_idx",
                    "executions_counted_idx",
                    "executions_of_series_idx",
                    "executions_of_task_idx",
                    "executions_of_tenant_idx",
                )
            ]
        ),
    ]
