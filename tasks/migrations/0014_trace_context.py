from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0013_one_name_of_destinations")]

    operations = [
        migrations.AddField(
            model_name="task",
            name="trace_context",
            field=models.CharField(max_length=560, null=True),
        )
    ]
