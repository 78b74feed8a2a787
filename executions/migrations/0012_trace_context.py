from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0011_one_name_of_destinations"),
        ("tasks", "0014_trace_context"),
    ]

    operations = [
        migrations.AddField(
            model_name="execution",
            name="trace_context",
            field=models.CharField(max_length=560, null=True),
        ),
        migrations.AddField(
            model_name="bulkjob",
            name="trace_context",
            field=models.CharField(max_length=560, null=True),
        ),
    ]
