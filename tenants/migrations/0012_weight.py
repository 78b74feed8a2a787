"""The weight of tenants; without a rewrite of the table."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column and its bounds."""

    dependencies: ClassVar = [("tenants", "0011_data_keys")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="weight",
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                name="weight_is_1_to_1000",
                condition=models.Q(weight__gte=1, weight__lte=1000),
            ),
        ),
    ]
