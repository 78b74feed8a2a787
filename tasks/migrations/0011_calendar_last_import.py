from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0010_due_tasks_singly")]

    operations = [
        migrations.AddField(
            model_name="calendar",
            name="last_import",
            field=models.JSONField(default=None, null=True),
        )
    ]
