"""Reads the product's rows of a tenant's failures, alerts and messages, and judges them.

``read_books`` asks the database of the installation; ``faults_of`` compares the rows with what
the mail server took and is a pure function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from bench.mailbox import Mail

UNFINISHED = ("PENDING", "SENDING")


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert of final failures."""

    id: str
    task_id: str
    signature: str
    count: int
    notices: int


@dataclass(frozen=True, slots=True)
class MessageRow:
    """An e-mail that is owed or was sent."""

    alert_id: str
    notice: int
    status: str
    message_id: str
    count_shown: int


@dataclass(frozen=True, slots=True)
class Books:
    """A tenant's rows at one moment."""

    #: Dead letters by cause: every execution that failed for good has exactly one.
    letters: dict[str, int]
    alerts: list[AlertRow]
    messages: list[MessageRow]

    @property
    def counted(self) -> dict[str, int]:
        """Return the failures that the alerts of each cause count."""
        found: Counter[str] = Counter()
        for alert in self.alerts:
            found[alert.signature] += alert.count
        return dict(found)

    @property
    def settled(self) -> bool:
        """Tell whether every dead letter is counted and no message is on its way."""
        return self.counted == self.letters and not any(
            message.status in UNFINISHED for message in self.messages
        )


def read_books(tenant_id: UUID) -> Books:
    """Return the tenant's rows now."""
    from django.db.models import Count

    from executions.models import DeadLetter
    from notifications.choices import AlertKind, Channel
    from notifications.models import Alert, Delivery

    letters = DeadLetter.objects.for_tenant(tenant_id).order_by().values("error_signature")
    alerts = Alert.objects.filter(tenant_id=tenant_id, kind=AlertKind.FINAL_FAILURE)
    messages = Delivery.objects.filter(
        alert__tenant_id=tenant_id, channel=Channel.EMAIL
    ).select_related("alert")
    return Books(
        dict(letters.annotate(count=Count("id")).values_list("error_signature", "count")),
        [
            AlertRow(str(a.id), str(a.task_id), a.error_signature, a.count, a.notice_number)
            for a in alerts.order_by("id")
        ],
        [
            MessageRow(str(m.alert_id), m.notice_number, m.status, m.message_id, m.count_shown or 0)
            for m in messages.order_by("id")
        ],
    )


def faults_of(books: Books, mails: Sequence[Mail], expected: int, *, all_told: bool) -> list[str]:
    """Return a line for each broken promise about ``expected`` failures.

    With ``all_told`` the last message of each alert has to show its full count; without, more
    may wait for the digest.
    """
    faults = []
    failed = sum(books.letters.values())
    if failed != expected:
        faults.append(f"{expected} executions should have failed, {failed} dead letters are there")
    if books.counted != books.letters:
        faults.append(f"alerts count {books.counted}, dead letters are {books.letters}")
    faults += _message_faults(books, mails)
    shown: Counter[str] = Counter()
    for message in books.messages:
        shown[message.alert_id] = max(shown[message.alert_id], message.count_shown)
    for alert in books.alerts:
        told = shown[alert.id]
        if told == 0 or (all_told and told != alert.count):
            faults.append(f"alert {alert.id}: {told} of {alert.count} failures were told")
    return faults


def _message_faults(books: Books, mails: Sequence[Mail]) -> list[str]:
    faults = [
        f"message of alert {message.alert_id}, notice {message.notice}: {message.status}"
        for message in books.messages
        if message.status != "SENT"
    ]
    arrived = Counter(mail.message_id for mail in mails)
    owed = {message.message_id for message in books.messages if message.status == "SENT"}
    faults += [f"{key} arrived {count} times" for key, count in arrived.items() if count > 1]
    faults += [f"{key} was sent and did not arrive" for key in sorted(owed - arrived.keys())]
    faults += [
        f"{key} arrived and is not recorded as sent" for key in sorted(arrived.keys() - owed)
    ]
    return faults
