from __future__ import annotations

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Find a cursor by its newest version, and compare a new one with none.

    A unique index of all cursors compares each new version of a row with each older one that
    somebody may still see: beside a transaction that stays open they become ever more.
    """

    dependencies = [("tasks", "0026_cursors_swept_by_thousands")]

    operations = [
        # It takes as long as there are tasks.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.AddIndex(
            "taskcursor",
            models.Index(fields=["task", "next_run_at"], name="task_cursors_of_task_idx"),
        ),
        migrations.AddConstraint(
            "taskcursor",
            models.UniqueConstraint(
                fields=["task"],
                name="task_cursors_not_run_key",
                condition=Q(last_execution_status=""),
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE task_cursors DROP CONSTRAINT task_cursors_pkey",
            "ALTER TABLE task_cursors ADD CONSTRAINT task_cursors_pkey PRIMARY KEY (task_id)",
        ),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
    ]
