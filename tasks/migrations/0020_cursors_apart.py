# The cursors of tasks become rows of their own, which the scheduler moves; a task changes when
# somebody changes it. Everything is stopped meanwhile; cut off anywhere, nothing has changed, and
# the next run begins again.

from __future__ import annotations

from time import monotonic
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

_APART = """
INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count,
                          replayed_until, held)
SELECT id, tenant_id, partition, next_run_at, occurrence_count, replayed_until,
       status <> 'SCHEDULED'
FROM tasks WHERE type <> 'ONE_TIME' OR next_run_at IS NOT NULL
"""
_TOGETHER = """
UPDATE tasks t SET next_run_at = k.next_run_at, replayed_until = k.replayed_until,
       occurrence_count = k.occurrence_count
FROM task_cursors k WHERE k.task_id = t.id
"""


def _part(apps: Any, schema_editor: Any) -> None:
    _run(schema_editor, _APART, "cursors are rows of their own")


def _join(apps: Any, schema_editor: Any) -> None:
    _run(schema_editor, _TOGETHER, "tasks have their cursors again")


def _run(schema_editor: Any, statement: str, what: str) -> None:
    began = monotonic()
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(statement)
        if moved := cursor.rowcount:
            took = f"{monotonic() - began:7.1f} s"
            print(f"\n    {took}  {moved} {what}", end="", flush=True)  # noqa: T201


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0019_name_zone_rules"),
    ]

    operations = [
        # It takes as long as there are tasks.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.CreateModel(
            name="TaskCursor",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="cursor",
                        serialize=False,
                        to="tasks.task",
                    ),
                ),
                ("tenant_id", models.UUIDField()),
                ("partition", models.SmallIntegerField()),
                ("next_run_at", models.DateTimeField(null=True)),
                ("occurrence_count", models.PositiveBigIntegerField(default=0)),
                ("replayed_until", models.DateTimeField(null=True)),
                ("held", models.BooleanField(default=False)),
            ],
            options={"db_table": "task_cursors"},
        ),
        migrations.RunPython(_part, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="taskcursor",
            index=models.Index(
                condition=models.Q(("held", False), ("next_run_at__isnull", False)),
                fields=["partition", "next_run_at"],
                name="task_cursors_due_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="taskcursor",
            index=models.Index(
                condition=models.Q(("held", False), ("next_run_at__isnull", False)),
                fields=["tenant_id", "next_run_at", "task"],
                name="task_cursors_of_tenant_idx",
            ),
        ),
        # An entry for each, as 0010 has it of due tasks.
        migrations.RunSQL(
            "ALTER INDEX task_cursors_due_idx SET (deduplicate_items = off)", "SELECT 1"
        ),
        migrations.RunSQL("SELECT 1", "ALTER INDEX tasks_due_idx SET (deduplicate_items = off)"),
        migrations.RemoveIndex(model_name="task", name="tasks_due_idx"),
        migrations.RemoveIndex(model_name="task", name="tasks_next_of_tenant_idx"),
        migrations.RunPython(migrations.RunPython.noop, _join),
        migrations.RemoveField(model_name="task", name="next_run_at"),
        migrations.RemoveField(model_name="task", name="occurrence_count"),
        migrations.RemoveField(model_name="task", name="replayed_until"),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
    ]
