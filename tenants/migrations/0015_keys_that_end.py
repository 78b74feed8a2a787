"""Find the API keys that end soon."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Index the keys with an end that are neither revoked nor rotated."""

    atomic = False
    dependencies: ClassVar = [("tenants", "0014_provider_required")]
    operations: ClassVar = [
        AddIndexConcurrently(
            "apikey",
            models.Index(
                fields=["expires_at"],
                name="api_keys_ending_idx",
                condition=Q(
                    expires_at__isnull=False, revoked_at__isnull=True, replaced_by__isnull=True
                ),
            ),
        ),
    ]
