"""The right of members and API keys to see payloads; the present ones keep what they have."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Add the columns, which rewrites no table, and their rules."""

    dependencies: ClassVar = [("tenants", "0004_version_of_settings")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="membership",
            name="sees_payloads",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="sees_payloads",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                name="admins_and_owners_see_payloads",
                condition=Q(sees_payloads=True) | ~Q(role__in=["admin", "owner"]),
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                name="keys_that_send_or_lease_see_payloads",
                condition=Q(sees_payloads=True)
                | ~Q(scopes__overlap=["write", "worker", "admin"]) & Q(owner=False),
            ),
        ),
    ]
