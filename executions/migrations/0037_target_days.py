# How tasks keep their targets, by day: an empty table.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0036_gave_way_and_names")]

    operations = [
        migrations.CreateModel(
            name="TargetDay",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "task_id",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("task_id", models.UUIDField()),
                ("tenant_id", models.UUIDField()),
                ("day", models.DateField()),
                ("starts", models.BigIntegerField()),
                ("late", models.BigIntegerField()),
                ("runs", models.BigIntegerField()),
                ("long", models.BigIntegerField()),
            ],
            options={
                "db_table": "target_days",
                "indexes": [
                    models.Index(fields=["tenant_id", "day"], name="target_days_of_tenant_idx")
                ],
            },
        ),
    ]
