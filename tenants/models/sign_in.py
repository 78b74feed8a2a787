"""The sign-in: one session of a person in one browser, from the password to its end."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tenants.choices import SignInEnd, SignInMethod


class SignIn(models.Model):
    """A session of a person, which the person can see and end.

    The session's own row holds its id. The id of a session changes at sign-in, at a change of the
    password and at the second factor; the sign-in stays.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # The index below begins with the user.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_ins", db_index=False
    )
    address = models.CharField(max_length=45, default="", blank=True)
    user_agent = models.CharField(max_length=300, default="", blank=True)
    #: Whether a code of the second factor was given, or its provider's took its place; without, the
    #: session ends when there is one.
    by_factor = models.BooleanField(default=False, db_default=False)
    #: The first proof; empty for sessions from before it was recorded.
    method = models.CharField(
        max_length=10, choices=SignInMethod, default="", db_default="", blank=True
    )
    began_at = models.DateTimeField(db_default=Now())
    #: Written at most once in five minutes.
    seen_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=10, choices=SignInEnd, default="", blank=True)

    class Meta:
        db_table = "sign_ins"
        indexes = [models.Index(fields=["user", "-began_at"], name="sign_ins_of_user_idx")]
        constraints = [
            models.CheckConstraint(
                name="sign_in_ends_with_a_reason",
                condition=Q(ended_at=None, ended_by="")
                | Q(ended_at__isnull=False) & ~Q(ended_by=""),
            )
        ]

    def __str__(self) -> str:
        return str(self.id)
