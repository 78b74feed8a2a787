"""Services of notification preferences: read, change, unsubscribe by the link in a mail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from events import audit
from notifications.choices import AlertKind, Channel, DeliveryStatus
from notifications.models import Delivery, NotificationPreference
from notifications.recipients import after_quiet_hours, preference_of
from notifications.services.addresses import ask_to_confirm
from shared import database_clock
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound
from tasks.schedules.zones import find_zone
from tenants.models import Membership

#: The fields that a member may change, as the API names them.
CHANGEABLE = (
    *("email_events", "push_events", "console_events", "email_address", "timezone"),
    *(
        "quiet_from",
        "quiet_to",
        "quiet_except_final",
        "digest_minutes",
        "muted_until",
        "muted_task_ids",
    ),
)
_EVENTS = ("email_events", "push_events", "console_events")
_MOST_MUTED_TASKS = 1000
#: E-mail is gathered for a day at most.
MOST_DIGEST_MINUTES = 1440


def get_membership(tenant_id: UUID, member_id: int) -> Membership:
    """Return the tenant's membership; raise NotFound for another tenant's."""
    found = Membership.objects.filter(tenant_id=tenant_id, pk=member_id).select_related("user")
    membership = found.first()
    if membership is None:
        raise NotFound("The tenant has no such member.")
    return membership


def lock_membership(tenant_id: UUID, member_id: int) -> Membership:
    """Return the tenant's membership, which stays until the transaction ends; raise NotFound."""
    # The races: two first changes of a member would both add a row, and a member who leaves
    # meanwhile would fail the commit.
    found = Membership.objects.select_for_update(no_key=True, of=("self",))
    membership = found.filter(tenant_id=tenant_id, pk=member_id).select_related("user").first()
    if membership is None:
        raise NotFound("The tenant has no such member.")
    return membership


def list_preferences(tenant_id: UUID) -> list[NotificationPreference]:
    """Return the preference of every member, the defaults where a member has chosen nothing."""
    memberships = (
        Membership.objects.filter(tenant_id=tenant_id)
        .select_related("user", "notification_preference")
        .order_by("id")
    )
    return [_of(membership) for membership in memberships]


@transaction.atomic
def update_preference(
    tenant_id: UUID, member_id: int, changes: Mapping[str, Any], *, actor: Actor
) -> NotificationPreference:
    """Change a member's preference; a new address gets a message that asks to confirm it.

    Raise NotFound, InvalidInput with every bad field, TooManyMessages, Unavailable.
    """
    membership = lock_membership(tenant_id, member_id)
    preference = preference_of(membership)
    before = {name: getattr(preference, name) for name in CHANGEABLE}
    for name, value in changes.items():
        setattr(preference, name, _normal(name, value))
    _check(preference, changes)
    if preference.email_address is None:
        preference.confirmed_email_address = None
    preference.updated_at = database_clock.now()
    preference.save()
    after = {name: getattr(preference, name) for name in CHANGEABLE}
    changed = [name for name in CHANGEABLE if before[name] != after[name]]
    if changed:
        audit.record(
            tenant_id,
            actor,
            "notification_preference.changed",
            "member",
            str(membership.pk),
            before={name: before[name] for name in changed},
            after={name: after[name] for name in changed},
        )
    if "digest_minutes" in changed:
        _hasten(preference)
    if "email_address" in changed and not preference.is_confirmed:
        ask_to_confirm(preference)
    return preference


@transaction.atomic
def unsubscribe_email(member_id: int, *, address: str, trace_id: str = "") -> None:
    """Stop all e-mail to the member at the member's own request; repeating it changes nothing."""
    membership = Membership.objects.filter(pk=member_id).first()
    if membership is None:
        raise NotFound("The member is gone.")
    actor = Actor(f"user:{membership.user_id}", address, trace_id)
    update_preference(membership.tenant_id, member_id, {"email_events": []}, actor=actor)


def _hasten(preference: NotificationPreference) -> None:
    """Let what was gathered wait no longer than what is gathered from now on."""
    latest = database_clock.now() + timedelta(minutes=preference.digest_minutes)
    # The kind is one that no quiet hours let through.
    at = after_quiet_hours(preference, AlertKind.FIRST_FAILURE, latest)
    Delivery.objects.filter(
        membership_id=preference.membership_id,
        channel=Channel.EMAIL,
        bundled=True,
        status=DeliveryStatus.PENDING,
        attempt_count=0,
        next_attempt_at__gt=at,
    ).update(next_attempt_at=at, woken_at=None)


def _of(membership: Membership) -> NotificationPreference:
    found: NotificationPreference | None = getattr(membership, "notification_preference", None)
    return found or NotificationPreference(membership=membership)


def _normal(name: str, value: Any) -> Any:
    if name in _EVENTS:
        return [kind for kind in AlertKind.values if kind in value]
    if name == "muted_task_ids":
        return list(dict.fromkeys(value))
    return value or None if name == "email_address" else value


def _check(preference: NotificationPreference, changes: Mapping[str, Any]) -> None:
    errors = [
        FieldError(f"#/{name}", "invalid_choice", f"Give of {', '.join(AlertKind.values)}.")
        for name in _EVENTS
        if not set(changes.get(name, ())) <= set(AlertKind.values)
    ]
    errors += [
        FieldError(f"#/{name}", "unknown_field", "There is no such field.")
        for name in changes
        if name not in CHANGEABLE
    ]
    errors += _address_errors(preference) + _zone_errors(preference) + _quiet_errors(preference)
    if len(preference.muted_task_ids) > _MOST_MUTED_TASKS:
        message = f"At most {_MOST_MUTED_TASKS} tasks."
        errors.append(FieldError("#/muted_task_ids", "too_many", message))
    if not 0 <= preference.digest_minutes <= MOST_DIGEST_MINUTES:
        message = f"Give 0 to {MOST_DIGEST_MINUTES} minutes."
        errors.append(FieldError("#/digest_minutes", "out_of_range", message))
    if errors:
        raise InvalidInput(errors, errors[0].message)


def _address_errors(preference: NotificationPreference) -> list[FieldError]:
    if preference.email_address is None:
        return []
    try:
        validate_email(preference.email_address)
        NotificationPreference._meta.get_field("email_address").run_validators(
            preference.email_address
        )
    except ValidationError:
        return [FieldError("#/email_address", "invalid", "Give an e-mail address.")]
    return []


def _zone_errors(preference: NotificationPreference) -> list[FieldError]:
    try:
        find_zone(preference.timezone)
    except ValueError as error:
        return [FieldError("#/timezone", "timezone_unknown", str(error))]
    return []


def _quiet_errors(preference: NotificationPreference) -> list[FieldError]:
    start, end = preference.quiet_from, preference.quiet_to
    if (start is None) != (end is None):
        return [FieldError("#/quiet_from", "invalid", "Give both ends of the quiet hours.")]
    if isinstance(start, time) and start == end:
        return [FieldError("#/quiet_to", "invalid", "Quiet hours end when they begin.")]
    return []
