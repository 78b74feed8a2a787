"""The enums that notifications store."""

from __future__ import annotations

from django.db import models


class AlertKind(models.TextChoices):
    """Kinds of alerts; RECOVERED is that of the message about an alert's end, and of no alert."""

    FIRST_FAILURE = "first_failure", "First failure"
    FINAL_FAILURE = "final_failure", "Final failure"
    FAILURES_IN_A_ROW = "failures_in_a_row", "Failures in a row"
    FAILURE_SHARE = "failure_share", "Failure share"
    RECOVERED = "recovered", "Recovered"
    LATE_START = "late_start", "Late start"
    DID_NOT_RUN = "did_not_run", "Did not run"
    RUNS_TOO_LONG = "runs_too_long", "Runs too long"
    CIRCUIT_OPEN = "circuit_open", "Circuit open"
    DEAD_LETTER_RATE = "dead_letter_rate", "Dead-letter rate"
    QUOTA_NEAR = "quota_near", "Quota nearly used"
    BUDGET_EXCEEDED = "budget_exceeded", "Budget exceeded"
    ERROR_BUDGET_BURN = "error_budget_burn", "Error-budget burn"
    APPROVAL_WAITING = "approval_waiting", "Approval waiting"
    DEADLINE_PASSED = "deadline_passed", "Deadline passed"
    COMPENSATION_FAILED = "compensation_failed", "Compensation failed"
    NO_WORKER = "no_worker", "No worker"
    INSTALLATION_UNHEALTHY = "installation_unhealthy", "Installation unhealthy"


#: The kinds of alerts and rules: all but that of the closing message.
ALERT_KINDS = tuple(kind for kind in AlertKind.values if kind != AlertKind.RECOVERED)
#: The kinds about the installation, which is a matter of its operators.
OF_INSTALLATION = (AlertKind.ERROR_BUDGET_BURN, AlertKind.INSTALLATION_UNHEALTHY)
#: The kinds that count executions by the cause of their failure.
OF_FAILURES = (
    AlertKind.FIRST_FAILURE,
    AlertKind.FINAL_FAILURE,
    AlertKind.FAILURES_IN_A_ROW,
    AlertKind.COMPENSATION_FAILED,
)


class RuleScope(models.TextChoices):
    """What an alert rule covers: every task of the tenant, or those of a label, or one."""

    ALL = "all", "All tasks"
    LABEL = "label", "Label"
    TASK = "task", "Task"
    WORKFLOW = "workflow", "Workflow"


class WindowScope(models.TextChoices):
    """Which alerts a maintenance window holds back: all, those about tasks, or those of a rule."""

    ALL = "all", "All alerts"
    LABEL = "label", "Label"
    TASK = "task", "Task or workflow"
    RULE = "rule", "Alert rule"


class Channel(models.TextChoices):
    """The ways by which a member is notified."""

    EMAIL = "email", "E-mail"
    PUSH = "push", "Browser push"
    CONSOLE = "console", "Console"


class ChannelKind(models.TextChoices):
    """The kinds of channels that a tenant shares."""

    WEBHOOK = "webhook", "Webhook"
    CHAT = "chat", "Chat or paging service"


#: What a delivery goes by: to a member, or to a shared channel.
DELIVERED_BY = (*Channel.choices, *ChannelKind.choices)


class DeliveryStatus(models.TextChoices):
    """States of a delivery; PENDING and SENDING are unfinished."""

    PENDING = "PENDING"
    SENDING = "SENDING"
    SENT = "SENT"
    FAILED = "FAILED"
    SUPPRESSED = "SUPPRESSED"


class Suppression(models.TextChoices):
    """Why a member or a shared channel was not notified."""

    MUTED = "muted", "Muted"
    QUIET_HOURS = "quiet_hours", "Quiet hours"
    NO_ADDRESS = "no_address", "No address"
    NO_SUBSCRIPTION = "no_subscription", "No browser subscribed"
    UNSUBSCRIBED = "unsubscribed", "Unsubscribed meanwhile"
    TENANT_SUSPENDED = "tenant_suspended", "Tenant suspended"
    ACKNOWLEDGED = "acknowledged", "Acknowledged meanwhile"
    NOT_TOLD = "not_told", "Its beginning was not told"


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
