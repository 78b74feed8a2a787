"""A version of each tenant's settings, for If-Match; without a rewrite of the table."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column."""

    dependencies: ClassVar = [("tenants", "0003_one_index_of_answers")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="version",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
    ]
