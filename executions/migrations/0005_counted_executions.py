# An execution that takes a place is found by its task at a glance; others have no entry.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0004_gate_and_series"),
    ]

    operations = [
        migrations.AddField(
            model_name="execution",
            name="counted",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(
                    ("counted", True),
                    ("status__in", ["PENDING", "QUEUED", "RUNNING", "RETRYING"]),
                ),
                fields=["task", "series_id"],
                name="executions_counted_idx",
            ),
        ),
    ]
