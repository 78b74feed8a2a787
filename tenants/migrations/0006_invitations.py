"""Invitations: offers of a role to an e-mail address, by a link that works once."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import shared.ids


class Migration(migrations.Migration):
    """Create the table."""

    dependencies: ClassVar = [
        ("tenants", "0005_right_to_see_payloads"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.CharField(max_length=150)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("admin", "Admin"),
                            ("owner", "Owner"),
                        ],
                        max_length=8,
                    ),
                ),
                ("sees_payloads", models.BooleanField()),
                ("token_hash", models.BinaryField(max_length=32, null=True, unique=True)),
                ("invited_by", models.CharField(max_length=200)),
                ("by_operator", models.BooleanField(default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("mail_error", models.CharField(default="", max_length=300)),
                ("accepted_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "inviter",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "inviting_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="tenants.apikey",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "invitations",
                "indexes": [
                    models.Index(
                        fields=["tenant", "-created_at", "-id"], name="invitations_of_tenant_idx"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("accepted_at", None), ("withdrawn_at", None)),
                        fields=("tenant", "email"),
                        name="one_open_invitation_of_an_address",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["viewer", "operator", "admin", "owner"])),
                        name="invitation_role_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("sees_payloads", True),
                            models.Q(("role__in", ["admin", "owner"]), _negated=True),
                            _connector="OR",
                        ),
                        name="invited_admins_and_owners_see_payloads",
                    ),
                ],
            },
        ),
    ]
