"""Identities of people at OpenID providers, and how a session began; no table is rewritten."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Make the table, and add the column."""

    dependencies: ClassVar = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tenants", "0009_quotas"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="signin",
            name="method",
            field=models.CharField(
                blank=True,
                choices=[
                    ("password", "Password"),
                    ("link", "One-time link"),
                    ("invitation", "Invitation"),
                    ("oidc", "OpenID provider"),
                    ("oidc_mfa", "OpenID provider, with its second factor"),
                ],
                db_default="",
                default="",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="Identity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("issuer", models.CharField(max_length=300)),
                ("subject", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, default="", max_length=254)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "identities",
                "db_table": "identities",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("issuer", "subject"), name="one_account_of_each_identity"
                    )
                ],
            },
        ),
    ]
