"""The notification preference: a member's choice of alerts, channels and quiet hours."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import AlertKind


def final_failures() -> list[str]:
    """Return the default of e-mail: everything but first failures."""
    return [kind for kind in AlertKind.values if kind != AlertKind.FIRST_FAILURE]


def all_failures() -> list[str]:
    """Return the default of console and push: everything."""
    return list(AlertKind.values)


class NotificationPreference(models.Model):
    """A member's wishes; a member without a row has the defaults.

    Quiet hours run from ``quiet_from`` to ``quiet_to`` in ``timezone``, also over midnight, and
    suppress e-mail and push; with ``quiet_except_final`` final failures still go out.
    ``email_address`` is used once its owner has confirmed it; ``confirmed_email_address`` is the
    last one that was. With ``digest_minutes`` e-mail about alerts that are not urgent is gathered
    for that long and sent as one message; 0 sends each at once.
    """

    membership = models.OneToOneField(
        "tenants.Membership", on_delete=models.CASCADE, related_name="notification_preference"
    )
    email_events = ArrayField(models.CharField(max_length=24), default=final_failures, blank=True)
    push_events = ArrayField(models.CharField(max_length=24), default=all_failures, blank=True)
    console_events = ArrayField(models.CharField(max_length=24), default=all_failures, blank=True)
    email_address = models.EmailField(null=True, blank=True)
    confirmed_email_address = models.EmailField(null=True, blank=True)
    timezone = models.CharField(max_length=63, default="UTC")
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_to = models.TimeField(null=True, blank=True)
    quiet_except_final = models.BooleanField(default=True)
    digest_minutes = models.PositiveSmallIntegerField(default=0, db_default=0)
    muted_until = models.DateTimeField(null=True, blank=True)
    muted_task_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "notification_preferences"
        constraints = [
            models.CheckConstraint(
                name="notification_events_are_known",
                condition=Q(
                    email_events__contained_by=AlertKind.values,
                    push_events__contained_by=AlertKind.values,
                    console_events__contained_by=AlertKind.values,
                ),
            ),
            models.CheckConstraint(
                name="quiet_hours_have_both_ends",
                condition=Q(quiet_from__isnull=True, quiet_to__isnull=True)
                | Q(quiet_from__isnull=False, quiet_to__isnull=False),
            ),
        ]

    @property
    def is_confirmed(self) -> bool:
        """Whether messages go to the wanted address; the account's own address needs no proof."""
        known = (None, self.confirmed_email_address, self.membership.user.email)
        return self.email_address in known

    @property
    def effective_address(self) -> str:
        """Return the address for e-mail: a confirmed one, or ""."""
        wanted = self.email_address if self.is_confirmed else self.confirmed_email_address
        return wanted or self.membership.user.email or ""

    def __str__(self) -> str:
        return f"preferences of member {self.membership_id}"
