"""Whether members of a tenant sign in by an OpenID provider only; without a rewrite of the table."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column."""

    dependencies: ClassVar = [("tenants", "0013_sealed_targets")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="provider_required",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
