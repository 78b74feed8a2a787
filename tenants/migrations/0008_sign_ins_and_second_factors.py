"""Sessions that people see and end, and second factors of their accounts: new tables."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import shared.fields
import shared.ids

_NOW = django.db.models.functions.datetime.Now


class Migration(migrations.Migration):
    """Make three tables, and a column of tenants without a rewrite."""

    dependencies: ClassVar = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tenants", "0007_addresses_of_api_keys"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="second_factor_required",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="SignIn",
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
                ("address", models.CharField(blank=True, default="", max_length=45)),
                ("user_agent", models.CharField(blank=True, default="", max_length=300)),
                ("by_factor", models.BooleanField(db_default=False, default=False)),
                ("began_at", models.DateTimeField(db_default=_NOW())),
                ("seen_at", models.DateTimeField(db_default=_NOW())),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "ended_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("signed_out", "Signed out"),
                            ("ended", "Ended by the person or an operator"),
                            ("password", "The password was changed"),
                            ("factor", "The second factor was changed"),
                            ("expired", "Unused for too long, or too old"),
                            ("replaced", "Too many sessions at once"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_ins",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "sign_ins",
                "indexes": [
                    models.Index(fields=["user", "-began_at"], name="sign_ins_of_user_idx")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ended_at", None), ("ended_by", ""))
                        | models.Q(
                            ("ended_at__isnull", False),
                            models.Q(("ended_by", ""), _negated=True),
                        ),
                        name="sign_in_ends_with_a_reason",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="second_factor",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("sealed_secret", shared.fields.SealedField()),
                ("created_at", models.DateTimeField(db_default=_NOW())),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("last_step", models.BigIntegerField(db_default=0, default=0)),
                ("tries", models.PositiveIntegerField(db_default=0, default=0)),
                ("tries_since", models.DateTimeField(db_default=_NOW())),
            ],
            options={"db_table": "second_factors"},
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code_hash", models.BinaryField(max_length=32)),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "factor",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to="tenants.secondfactor",
                    ),
                ),
            ],
            options={
                "db_table": "recovery_codes",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("factor", "code_hash"), name="one_recovery_code_of_each_text"
                    )
                ],
            },
        ),
    ]
