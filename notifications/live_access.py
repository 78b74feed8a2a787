"""Who may listen to which tenant's live updates: members by session, programs by ticket.

Checked once when a socket opens and then at intervals, never per message.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from notifications.tickets import redeem
from tenants.models import ApiKey, Membership


@dataclass(frozen=True, slots=True)
class Access:
    """The tenant that a socket listens to, and the right to do so."""

    tenant_id: UUID
    user_id: int | None = None
    session_key: str = ""
    key_id: UUID | None = None


def admit_by_session(user: Any, session: Any) -> Access | None:
    """Return the access of a logged-in member: to the session's tenant, else to the first."""
    if not user.is_authenticated or not user.is_active:
        return None
    memberships = Membership.objects.filter(user=user, tenant__suspended_at=None)
    tenants = list(memberships.order_by("tenant__name").values_list("tenant_id", flat=True))
    if not tenants:
        return None
    wanted = session.get("tenant_id")
    chosen = next((one for one in tenants if str(one) == wanted), tenants[0])
    return Access(chosen, user_id=user.pk, session_key=session.session_key)


def admit_by_ticket(ticket: str) -> Access | None:
    """Return the access of a ticket and use the ticket up; may raise ConnectionFailed."""
    holder = redeem(ticket)
    if holder is None:
        return None
    access = Access(holder.tenant_id, key_id=holder.key_id)
    return access if is_still_valid(access) else None


def is_still_valid(access: Access) -> bool:
    """Return whether the right by which a socket was opened is still valid."""
    if access.key_id is not None:
        key = ApiKey.objects.select_related("tenant").filter(pk=access.key_id).first()
        return (
            key is not None and key.is_valid_at(timezone.now()) and key.tenant.suspended_at is None
        )
    users = User.objects.filter(pk=access.user_id or 0, is_active=True)
    user = users.first()
    if user is None or not _is_logged_in(user, access.session_key):
        return False
    memberships = Membership.objects.filter(user=user, tenant__suspended_at=None)
    return memberships.filter(tenant_id=access.tenant_id).exists()


def _is_logged_in(user: User, session_key: str) -> bool:
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    session = store.load()
    if session.get(SESSION_KEY) != str(user.pk):
        return False
    # The hash covers the password: a change of it ends the sessions.
    stored = str(session.get(HASH_SESSION_KEY, ""))
    return constant_time_compare(stored, user.get_session_auth_hash())
