"""Write limits and unfinished executions under the one name of their destination.

Limits that several spellings of a host had become one row, of which each limit is the strictest, so
that none is lost. Interrupted, it begins anew and changes nothing twice.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.db import migrations, transaction

_tasks = import_module("tasks.migrations.0013_one_name_of_destinations")

_LIMITS = "SELECT id, tenant_id, host FROM destinations WHERE host !~ %s ORDER BY id"
#: The row of a tenant's destination, with the limits of another row of the same one.
_MERGE = """
INSERT INTO destinations AS d (
    id, tenant_id, host, max_in_flight, rate_per_second, breaker, version, created_at, updated_at
)
SELECT gen_random_uuid(), o.tenant_id, %s, o.max_in_flight, o.rate_per_second, o.breaker,
       o.version, o.created_at, now()
FROM destinations o WHERE o.id = %s
ON CONFLICT (tenant_id, host) DO UPDATE SET
    max_in_flight = least(d.max_in_flight, excluded.max_in_flight),
    rate_per_second = least(d.rate_per_second, excluded.rate_per_second),
    breaker = d.breaker OR excluded.breaker,
    version = greatest(d.version, excluded.version) + 1,
    updated_at = now()
"""
_DROP = "DELETE FROM destinations WHERE id = %s"
#: No unfinished execution lies below the floor, so that few days are touched.
_ODD = """
SELECT DISTINCT destination FROM executions
WHERE id >= (SELECT floor_id FROM ledger_floor) AND destination <> '' AND destination !~ %s
  AND status IN ('PENDING', 'RETRYING', 'QUEUED', 'RUNNING')
"""
_WRITE = """
UPDATE executions SET destination = %s
WHERE id >= (SELECT floor_id FROM ledger_floor) AND destination = %s
  AND status IN ('PENDING', 'RETRYING', 'QUEUED', 'RUNNING')
"""


def write_names(apps: Any, schema_editor: Any) -> None:
    """Write the limits, a transaction for each, then the executions, one for each spelling."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_LIMITS, (_tasks.NAME,))
        for row_id, _, host in cursor.fetchall():
            for name in _tasks.names_of([host]).values():
                with transaction.atomic(using=schema_editor.connection.alias):
                    cursor.execute(_MERGE, (name, row_id))
                    cursor.execute(_DROP, (row_id,))
        cursor.execute(_ODD, (_tasks.NAME,))
        for spelling, name in _tasks.names_of([row[0] for row in cursor.fetchall()]).items():
            cursor.execute(_WRITE, (name, spelling))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("executions", "0010_floor_of_last_hour"),
        ("tasks", "0013_one_name_of_destinations"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        migrations.RunPython(write_names, migrations.RunPython.noop),
        migrations.RunSQL("RESET statement_timeout", migrations.RunSQL.noop),
    ]
