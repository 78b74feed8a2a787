"""Tiers and limits of tenants; without a rewrite of the table."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns."""

    dependencies: ClassVar = [("tenants", "0008_sign_ins_and_second_factors")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="tier",
            field=models.CharField(db_default="default", default="default", max_length=40),
        ),
        migrations.AddField(
            model_name="tenant",
            name="quotas",
            field=models.JSONField(
                blank=True, db_default=models.Value({}, models.JSONField()), default=dict
            ),
        ),
        migrations.AddField(
            model_name="tenant",
            name="quotas_near",
            field=ArrayField(models.CharField(max_length=40), db_default=[], default=list),
        ),
    ]
