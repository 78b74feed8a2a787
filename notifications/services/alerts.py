"""Services of alerts: find one, mute it for all members or for one."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction

from events import audit
from executions.loop.clocks import database_now
from notifications.models import Alert, AlertMute
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound
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
    get_alert(tenant_id, alert_id)
    alert = Alert.objects.select_for_update(no_key=True).get(pk=alert_id)
    now = database_now()
    alert.muted_until = now + timedelta(minutes=minutes) if minutes else None
    if alert.closed_at is None:
        # The alerter checks it now, and again when the mute ends.
        alert.next_notice_at = now
    alert.save(update_fields=["muted_until", "next_notice_at"])
    audit.record(tenant_id, actor, "alert.muted", "alert", alert_id, after={"minutes": minutes})
    return alert


@transaction.atomic
def mute_alert_for_member(
    alert_id: UUID, member_id: int, *, minutes: int, address: str, trace_id: str = ""
) -> Alert:
    """Send one member no notice of this alert for ``minutes``, at the member's own request."""
    membership = Membership.objects.filter(pk=member_id).first()
    if membership is None:
        raise NotFound("The member is gone.")
    alert = get_alert(membership.tenant_id, alert_id)
    until = database_now() + timedelta(minutes=minutes)
    AlertMute.objects.update_or_create(
        alert=alert, membership=membership, defaults={"until": until}
    )
    actor = Actor(f"user:{membership.user_id}", address, trace_id)
    facts = {"minutes": minutes, "member": member_id}
    audit.record(membership.tenant_id, actor, "alert.muted", "alert", alert_id, after=facts)
    return alert
