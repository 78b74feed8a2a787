"""Services of alerts: find one, mute it for all members or for one, acknowledge, assign it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction

from events import audit
from executions.loop.clocks import database_now
from notifications.alert_events import CHANGED, append_alert_events
from notifications.models import Alert, AlertMute
from notifications.services.preferences import lock_membership
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from tenants.models import Membership

MOST_MINUTES = 7 * 24 * 60


def get_alert(tenant_id: UUID, alert_id: UUID) -> Alert:
    """Return the tenant's alert; raise NotFound for another tenant's."""
    found = Alert.objects.filter(tenant_id=tenant_id, pk=alert_id).first()
    if found is None:
        raise NotFound("There is no such alert.")
    return found


@transaction.atomic
def mute_alert(tenant_id: UUID, alert_id: UUID, *, minutes: int, actor: Actor) -> Alert:
    """Send no notice of this alert for ``minutes``; it keeps counting. Zero ends the mute."""
    if not 0 <= minutes <= MOST_MINUTES:
        message = f"Give 0 to {MOST_MINUTES} minutes."
        raise InvalidInput([FieldError("#/minutes", "out_of_range", message)], message)
    alert = _locked(tenant_id, alert_id)
    now = database_now()
    alert.muted_until = now + timedelta(minutes=minutes) if minutes else None
    if alert.closed_at is None:
        # The alerter checks it now, and again when the mute ends.
        alert.next_notice_at = now
    alert.save(update_fields=["muted_until", "next_notice_at"])
    append_alert_events(CHANGED, [alert])
    audit.record(tenant_id, actor, "alert.muted", "alert", alert_id, after={"minutes": minutes})
    return alert


@transaction.atomic
def acknowledge_alert(
    tenant_id: UUID, alert_id: UUID, *, acknowledged: bool = True, actor: Actor
) -> Alert:
    """Send no further notice of this alert but that of its end, and do not escalate it.

    ``acknowledged`` false takes that back. Repeating it changes nothing. Raise NotFound, and
    Conflict ``alert_closed`` for one that is over.
    """
    alert = _locked(tenant_id, alert_id)
    if alert.closed_at is not None:
        raise Conflict("The alert is over.", code="alert_closed")
    if acknowledged == (alert.acknowledged_at is not None):
        return alert
    now = database_now()
    alert.acknowledged_at = now if acknowledged else None
    alert.acknowledged_by = actor.name[:200] if acknowledged else ""
    # The alerter checks it now: what was kept back is told, or the next check is put off.
    alert.next_notice_at = now
    alert.save(update_fields=["acknowledged_at", "acknowledged_by", "next_notice_at"])
    append_alert_events(CHANGED, [alert])
    facts = {"acknowledged": acknowledged}
    audit.record(tenant_id, actor, "alert.acknowledged", "alert", alert_id, after=facts)
    return alert


@transaction.atomic
def assign_alert(tenant_id: UUID, alert_id: UUID, *, member_id: int | None, actor: Actor) -> Alert:
    """Name the member who works on the alert, or none; raise NotFound, InvalidInput."""
    alert = _locked(tenant_id, alert_id)
    if member_id is not None:
        known = Membership.objects.filter(tenant_id=tenant_id, pk=member_id, user__is_active=True)
        # The race: a member who leaves meanwhile would fail the commit.
        if not known.select_for_update(no_key=True, of=("self",)).exists():
            message = "The tenant has no such active member."
            raise InvalidInput([FieldError("#/member", "member_unknown", message)], message)
    if alert.assignee_id == member_id:
        return alert
    before = {"member": alert.assignee_id}
    alert.assignee_id = member_id
    alert.save(update_fields=["assignee"])
    append_alert_events(CHANGED, [alert])
    facts = {"member": member_id}
    audit.record(tenant_id, actor, "alert.assigned", "alert", alert_id, before, facts)
    return alert


def _locked(tenant_id: UUID, alert_id: UUID) -> Alert:
    get_alert(tenant_id, alert_id)
    return Alert.objects.select_for_update(no_key=True).get(pk=alert_id)


@transaction.atomic
def mute_alert_for_member(
    alert_id: UUID, member_id: int, *, minutes: int, address: str, trace_id: str = ""
) -> Alert:
    """Send one member no notice of this alert for ``minutes``, at the member's own request."""
    known = Membership.objects.filter(pk=member_id).first()
    if known is None:
        raise NotFound("The member is gone.")
    alert = _locked(known.tenant_id, alert_id)
    membership = lock_membership(known.tenant_id, member_id)
    until = database_now() + timedelta(minutes=minutes)
    AlertMute.objects.update_or_create(
        alert=alert, membership=membership, defaults={"until": until}
    )
    actor = Actor(f"user:{membership.user_id}", address, trace_id)
    facts = {"minutes": minutes, "member": member_id}
    audit.record(membership.tenant_id, actor, "alert.muted", "alert", alert_id, after=facts)
    return alert
