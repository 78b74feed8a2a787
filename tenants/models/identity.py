"""The identity: a person's account at an OpenID provider, which signs in to an account here."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Identity(models.Model):
    """Which account here an issuer's subject signs in to; an issuer never gives one out twice.

    The address is the one that the issuer has confirmed when they were linked. It decides nothing
    afterwards.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities"
    )
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    email = models.CharField(max_length=254, default="", blank=True)
    created_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "identities"
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                fields=["issuer", "subject"], name="one_account_of_each_identity"
            )
        ]

    def __str__(self) -> str:
        return f"{self.issuer} {self.user_id}"
