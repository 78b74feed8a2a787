# The last run of a recurring task goes to its cursor, which is narrow; of a one-time task it stays.
# Everything is stopped meanwhile; cut off anywhere, nothing has changed, and the next run begins
# again.

from __future__ import annotations

from time import monotonic
from typing import Any

from django.db import migrations, models

_OWN = {
    "own_execution_id": ("last_execution_id", models.UUIDField(null=True)),
    "own_execution_status": ("last_execution_status", models.CharField(max_length=9, default="")),
    "own_execution_at": ("last_execution_at", models.DateTimeField(null=True)),
    "own_success_at": ("last_success_at", models.DateTimeField(null=True)),
}
_APART = (
    """
    UPDATE task_cursors k
    SET last_execution_id = t.last_execution_id, last_execution_status = t.last_execution_status,
        last_execution_at = t.last_execution_at, last_success_at = t.last_success_at
    FROM tasks t
    WHERE t.id = k.task_id AND t.type <> 'ONE_TIME' AND t.last_execution_id IS NOT NULL
    """,
    """
    UPDATE tasks
    SET last_execution_id = NULL, last_execution_status = '', last_execution_at = NULL,
        last_success_at = NULL
    WHERE type <> 'ONE_TIME' AND last_execution_id IS NOT NULL
    """,
)
_TOGETHER = (
    """
    UPDATE tasks t
    SET last_execution_id = k.last_execution_id, last_execution_status = k.last_execution_status,
        last_execution_at = k.last_execution_at, last_success_at = k.last_success_at
    FROM task_cursors k
    WHERE k.task_id = t.id AND t.type <> 'ONE_TIME' AND k.last_execution_id IS NOT NULL
    """,
)


def _part(apps: Any, schema_editor: Any) -> None:
    _run(schema_editor, _APART, "last runs stand with their cursors")


def _join(apps: Any, schema_editor: Any) -> None:
    _run(schema_editor, _TOGETHER, "last runs stand with their tasks")


def _run(schema_editor: Any, statements: tuple[str, ...], what: str) -> None:
    began, moved = monotonic(), 0
    with schema_editor.connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            moved = max(moved, cursor.rowcount)
    if moved:
        print(f"\n    {monotonic() - began:7.1f} s  {moved} {what}", end="", flush=True)  # noqa: T201


def _renamed(name: str, column: str, field: models.Field[Any, Any]) -> list[Any]:
    field.db_column = column
    return [
        migrations.RenameField("task", column, name),
        migrations.AlterField("task", name, field),
    ]


class Migration(migrations.Migration):
    dependencies = [("tasks", "0021_one_index_of_tenants")]

    operations = [
        # It takes as long as there are recurring tasks.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.AddField("taskcursor", "last_execution_id", models.UUIDField(null=True)),
        migrations.AddField(
            "taskcursor",
            "last_execution_status",
            models.CharField(max_length=9, default="", db_default=""),
        ),
        migrations.AddField("taskcursor", "last_execution_at", models.DateTimeField(null=True)),
        migrations.AddField("taskcursor", "last_success_at", models.DateTimeField(null=True)),
        # Room for the version that a run writes, so that it needs no entries in indexes.
        migrations.RunSQL(
            "ALTER TABLE task_cursors SET (fillfactor = 50)",
            "ALTER TABLE task_cursors RESET (fillfactor)",
        ),
        migrations.RunPython(_part, _join),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                step
                for name, (column, field) in _OWN.items()
                for step in _renamed(name, column, field)
            ]
        ),
    ]
