"""Write each task's destination in the one spelling of its host, in which limits are found.

In batches that commit one by one, and only where the spelling differs. An interrupted run begins
anew and changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import migrations

from shared.hosts import HostError
from tasks.destination_names import read_name

BATCH = 5000
#: What is already a name: labels of a host whose last one is no number, or an address in four parts;
#: a port behind it that is neither 80 nor 443. All others are looked at one by one.
NAME = (
    r"^(([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z_]([a-z0-9_-]*[a-z0-9_])?"
    r"|(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3})"
    r"(:(?!(80|443)$)[1-9][0-9]{0,4})?$"
)
_NOTHING = UUID(int=0)
_NEXT = "SELECT id FROM tasks WHERE id > %s ORDER BY id LIMIT 1 OFFSET %s"
_ODD = """
SELECT DISTINCT destination FROM tasks
WHERE id > %s AND (%s::uuid IS NULL OR id <= %s) AND destination <> '' AND destination !~ %s
"""
_WRITE = """
UPDATE tasks t SET destination = n.name
FROM unnest(%s::text[], %s::text[]) AS n (spelling, name)
WHERE t.id > %s AND (%s::uuid IS NULL OR t.id <= %s) AND t.destination = n.spelling
"""


def names_of(spellings: list[str]) -> dict[str, str]:
    """Return the name of each spelling that is none itself; what spells no host stays."""
    found = {}
    for spelling in spellings:
        try:
            name = read_name(spelling)
        except HostError:
            continue
        if name != spelling:
            found[spelling] = name
    return found


def _ranges(cursor: Any) -> Iterator[tuple[UUID, UUID | None]]:
    done = _NOTHING
    while True:
        cursor.execute(_NEXT, (done, BATCH - 1))
        found = cursor.fetchone()
        yield done, found and found[0]
        if found is None:
            return
        done = found[0]


def write_names(apps: Any, schema_editor: Any) -> None:
    """Go through all tasks once."""
    with schema_editor.connection.cursor() as cursor:
        for low, high in _ranges(cursor):
            cursor.execute(_ODD, (low, high, high, NAME))
            names = names_of([row[0] for row in cursor.fetchall()])
            if names:
                cursor.execute(_WRITE, (list(names), list(names.values()), low, high, high))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tasks", "0012_paused_tasks")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        migrations.RunPython(write_names, migrations.RunPython.noop),
        migrations.RunSQL("RESET statement_timeout", migrations.RunSQL.noop),
    ]
