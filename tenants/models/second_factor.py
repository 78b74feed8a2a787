"""The second factor of an account: an authenticator app, and codes for when it is lost."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from shared.fields import SealedField


class SecondFactor(models.Model):
    """The secret of a person's authenticator app; asked for at sign-in once it is confirmed.

    ``last_step`` is the time step of the last accepted code: it and earlier ones are refused.
    ``tries`` counts the wrong codes since ``tries_since``, from all addresses together.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="second_factor",
    )
    sealed_secret = SealedField()
    created_at = models.DateTimeField(db_default=Now())
    confirmed_at = models.DateTimeField(null=True, blank=True)
    last_step = models.BigIntegerField(default=0, db_default=0)
    tries = models.PositiveIntegerField(default=0, db_default=0)
    tries_since = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "second_factors"

    def __str__(self) -> str:
        return str(self.user_id)


class RecoveryCode(models.Model):
    """A code that signs in once without the app. Only its hash is stored."""

    # The constraint's index begins with the factor.
    factor = models.ForeignKey(
        SecondFactor, on_delete=models.CASCADE, related_name="recovery_codes", db_index=False
    )
    code_hash = models.BinaryField(max_length=32)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "recovery_codes"
        constraints = [
            models.UniqueConstraint(
                fields=["factor", "code_hash"], name="one_recovery_code_of_each_text"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
