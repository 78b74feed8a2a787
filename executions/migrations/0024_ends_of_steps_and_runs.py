from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Count by minute which of the calls are those of steps, and the runs beside them.

    Until now a minute counts no run, and every step as if it were a task.
    """

    dependencies = [("executions", "0023_marks_of_steps")]

    operations = [
        migrations.AddField("minutestat", name, models.IntegerField(default=0, db_default=0))
        for name in ("steps_succeeded", "steps_failed", "runs_succeeded", "runs_failed")
    ]
