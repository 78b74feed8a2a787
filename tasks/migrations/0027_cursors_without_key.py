from __future__ import annotations

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Replace the primary key of cursors by an index and by a key for tasks that have not run.

    A unique index compares each new version of a row with every older version that an open
    transaction keeps, and their number grows with each run.
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
