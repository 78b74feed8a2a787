# When partitions had no scheduler: what Explain names, and what the misfire policy judges by.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0012_trace_context")]

    operations = [
        migrations.CreateModel(
            name="UnownedStretch",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("partition", models.SmallIntegerField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("judged", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "unowned_stretches",
                "indexes": [
                    models.Index(fields=["partition", "-until"], name="unowned_stretches_idx"),
                    models.Index(
                        condition=models.Q(("judged", False)),
                        fields=["partition"],
                        name="unowned_unjudged_idx",
                    ),
                ],
            },
        ),
    ]
