import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0033_day_functions")]

    operations = [
        migrations.AddField(
            model_name="minutestat",
            name="by_band",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.CreateModel(
            name="ObjectiveCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tenant_id", models.UUIDField()),
                ("at", models.DateTimeField()),
                ("objective", models.TextField()),
                ("band", models.SmallIntegerField(null=True)),
                ("cause", models.TextField()),
                ("counted", models.BigIntegerField()),
                ("bad", models.BigIntegerField()),
                ("execution_id", models.UUIDField(null=True)),
                ("hourly", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "objective_counts",
                "indexes": [
                    models.Index(fields=["tenant_id", "at"], name="objective_counts_idx"),
                    models.Index(fields=["hourly", "at"], name="objective_counts_age_idx"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ObjectiveHour",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "hour",
                        "band",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.UUIDField()),
                ("hour", models.DateTimeField()),
                ("band", models.SmallIntegerField()),
                ("starts", models.BigIntegerField()),
                ("attempts", models.BigIntegerField()),
            ],
            options={
                "db_table": "objective_hours",
                "indexes": [models.Index(fields=["hour"], name="objective_hours_idx")],
            },
        ),
    ]
