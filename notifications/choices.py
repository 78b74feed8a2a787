"""The enums that notifications store."""

from __future__ import annotations

from django.db import models


class AlertKind(models.TextChoices):
    """Kinds of alerts: a failed first attempt that is retried, or a final failure."""

    FIRST_FAILURE = "first_failure", "First failure"
    FINAL_FAILURE = "final_failure", "Final failure"


class Channel(models.TextChoices):
    """The ways by which a member is notified."""

    EMAIL = "email", "E-mail"
    PUSH = "push", "Browser push"
    CONSOLE = "console", "Console"


class DeliveryStatus(models.TextChoices):
    """States of a delivery; PENDING and SENDING are unfinished."""

    PENDING = "PENDING"
    SENDING = "SENDING"
    SENT = "SENT"
    FAILED = "FAILED"
    SUPPRESSED = "SUPPRESSED"


class Suppression(models.TextChoices):
    """Why a member was not notified by a channel."""

    MUTED = "muted", "Muted"
    QUIET_HOURS = "quiet_hours", "Quiet hours"
    NO_ADDRESS = "no_address", "No address"
    NO_SUBSCRIPTION = "no_subscription", "No browser subscribed"
    UNSUBSCRIBED = "unsubscribed", "Unsubscribed meanwhile"
    TENANT_SUSPENDED = "tenant_suspended", "Tenant suspended"


class SubscriptionStatus(models.TextChoices):
    """States of an event subscription."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"


class SubscriptionPause(models.TextChoices):
    """Why an event subscription is paused; a call that resumes or redrives it ends each."""

    REQUESTED = "requested", "By request"
    UNDELIVERABLE = "undeliverable", "The receiver took no event for three days"
    GONE = "gone", "The receiver answered 410"
    URL_FORBIDDEN = "url_forbidden", "The URL may not be called"
    UNREADABLE = "unreadable", "No key opens the URL or the signing secrets"
    CURSOR_EXPIRED = "cursor_expired", "The next events are kept no longer"


UNFINISHED = (DeliveryStatus.PENDING, DeliveryStatus.SENDING)
