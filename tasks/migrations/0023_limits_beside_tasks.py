# What preparing needs of a definition stands with its task. Everything is stopped meanwhile; cut off
# anywhere, nothing has changed, and the next run begins again.

from __future__ import annotations

from django.db import migrations, models

_FILL = """
UPDATE tasks t
SET max_attempts = (r.definition -> 'retry_policy' ->> 'max_attempts')::smallint,
    timeout_seconds = coalesce((r.definition -> 'target' ->> 'timeout_seconds')::float8, 60)
        + coalesce((r.definition -> 'target' ->> 'cancel_grace_seconds')::float8, 0),
    limited = coalesce(t.schedule ->> 'overlap_policy', 'allow') <> 'allow'
        OR t.schedule ->> 'max_concurrent' IS NOT NULL
FROM task_revisions r
WHERE r.task_id = t.id AND r.version = t.version AND t.deleted_at IS NULL
  -- Of one-time tasks that have ended, those may come back that a calendar kept.
  AND NOT (t.type = 'ONE_TIME' AND t.status IN ('COMPLETED', 'FAILED', 'CANCELLED')
           AND t.schedule -> 'calendars' = '[]')
"""


class Migration(migrations.Migration):
    dependencies = [("tasks", "0022_last_runs_apart")]

    operations = [
        # It takes as long as there are tasks that have not ended.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.AddField(
            "task", "max_attempts", models.SmallIntegerField(db_default=5, default=5)
        ),
        migrations.AddField(
            "task", "timeout_seconds", models.FloatField(db_default=60, default=60)
        ),
        migrations.AddField(
            "task", "limited", models.BooleanField(db_default=False, default=False)
        ),
        # Of tasks that are there it stays empty: they are planned as before.
        migrations.AddField("taskcursor", "execution_id", models.UUIDField(null=True)),
        migrations.RemoveIndex("taskcursor", "task_cursors_due_idx"),
        migrations.AddIndex(
            "taskcursor",
            models.Index(
                condition=models.Q(
                    ("execution_id__isnull", True),
                    ("held", False),
                    ("next_run_at__isnull", False),
                ),
                fields=["partition", "next_run_at"],
                name="task_cursors_due_idx",
            ),
        ),
        migrations.AddIndex(
            "taskcursor",
            models.Index(
                condition=models.Q(("execution_id__isnull", False), ("held", False)),
                fields=["partition", "next_run_at"],
                name="task_cursors_plain_idx",
            ),
        ),
        # An entry for each, as 0020 has it of all.
        migrations.RunSQL(
            "ALTER INDEX task_cursors_due_idx SET (deduplicate_items = off);"
            " ALTER INDEX task_cursors_plain_idx SET (deduplicate_items = off)",
            "SELECT 1",
        ),
        migrations.RunSQL(_FILL, "SELECT 1"),
    ]
