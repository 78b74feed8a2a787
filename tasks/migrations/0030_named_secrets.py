from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import shared.fields
import shared.ids


class Migration(migrations.Migration):
    """Add named secrets of tenants, and which tasks use them. Both tables are new and empty."""

    dependencies = [
        ("tasks", "0029_manual_tasks"),
        ("tenants", "0009_quotas"),
    ]

    operations = [
        migrations.CreateModel(
            name="NamedSecret",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=63)),
                ("sealed", shared.fields.SealedField()),
                ("hosts", models.JSONField(default=list)),
                ("commands", models.JSONField(default=list)),
                ("version", models.PositiveIntegerField(default=1)),
                ("changed_by", models.CharField(default="", max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "written_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "named_secrets",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "name"), name="named_secret_is_unique"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="named_secret_has_a_name",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SecretUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "secret",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uses",
                        to="tasks.namedsecret",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
            ],
            options={
                "db_table": "secret_uses",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("task", "secret"), name="one_use_per_task_and_secret"
                    )
                ],
            },
        ),
    ]
