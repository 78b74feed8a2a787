"""Data keys of tenants, and how far their values are sealed anew: two empty tables."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

from shared.ids import new_id

#: The way back would close every value of every tenant, silently and for good.
_REFUSE_WHILE_THERE_ARE_KEYS = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM data_keys) THEN
        RAISE EXCEPTION 'Tenants have data keys: without their table, no value of theirs opens.';
    END IF;
END $$
"""


class Migration(migrations.Migration):
    """Add the tables."""

    dependencies: ClassVar = [("tenants", "0010_identities")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="DataKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("generation", models.PositiveIntegerField()),
                ("wrapped", models.BinaryField()),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("replaced_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="data_keys",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "data_keys",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "generation"), name="one_data_key_of_each_generation"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("replaced_at__isnull", True)),
                        fields=("tenant",),
                        name="one_data_key_of_each_tenant_seals",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Resealing",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("generation", models.PositiveIntegerField()),
                ("place", models.JSONField(default=dict)),
                ("columns_done", models.PositiveSmallIntegerField(default=0)),
                ("sealed", models.PositiveBigIntegerField(default=0)),
                ("unreadable", models.PositiveBigIntegerField(default=0)),
                ("left", models.PositiveBigIntegerField(null=True)),
                ("begun_by", models.CharField(max_length=200)),
                ("woken_at", models.DateTimeField(db_default=Now())),
                ("begun_at", models.DateTimeField(db_default=Now())),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="resealings",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "resealings",
                "indexes": [
                    models.Index(fields=["tenant", "-begun_at"], name="resealings_of_tenant_idx")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("tenant",),
                        name="one_running_resealing_per_tenant",
                    )
                ],
            },
        ),
        migrations.RunSQL(migrations.RunSQL.noop, _REFUSE_WHILE_THERE_ARE_KEYS),
    ]
