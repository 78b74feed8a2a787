"""Who may listen to which tenant's live updates: members by session, programs by ticket.

Checked when a socket opens, at intervals, at the end of its key, and after a change of the key;
never per message.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.utils.crypto import constant_time_compare

from notifications.tickets import redeem
from shared import database_clock, tenant_scope
from shared.conf import conf
from shared.networks import holds
from shared.tenant_scope import Purpose
from tenants.models import ApiKey, Membership, Tenant
from tenants.services.provider_sign_in import open_to
from tenants.services.second_factors import is_required
from tenants.services.sign_ins import SIGN_IN, find_open, may_adopt


@dataclass(frozen=True, slots=True)
class Access:
    """The tenant that a socket listens to, and the right to do so."""

    tenant_id: UUID
    user_id: int | None = None
    session_key: str = ""
    #: The row of the session; empty for one from before sessions were recorded.
    sign_in_id: str = ""
    key_id: UUID | None = None
    #: The issuer of a token, in place of a key.
    issuer: str = ""
    #: Where a program's socket comes from.
    address: str = ""
    #: When the key or token ends, as far as is known; in seconds of the epoch.
    ends_at: float | None = None


def admit_by_session(user: Any, session: Any) -> Access | None:
    """Return the access of a logged-in member: to the session's tenant, else to the first.

    None for a session that has ended, or that has yet to set up a second factor.
    """
    if not user.is_authenticated or not user.is_active:
        return None
    sign_in_id = str(session.get(SIGN_IN, ""))
    method = _method_of(sign_in_id, user.pk)
    if method is None:
        return None
    memberships = Membership.objects.filter(open_to(method), user=user, tenant__suspended_at=None)
    with tenant_scope.across(Purpose.SIGN_IN):
        tenants = list(memberships.order_by("tenant__name").values_list("tenant_id", flat=True))
    if not tenants:
        return None
    wanted = session.get("tenant_id")
    chosen = next((one for one in tenants if str(one) == wanted), tenants[0])
    return Access(chosen, user_id=user.pk, session_key=session.session_key, sign_in_id=sign_in_id)


def admit_by_ticket(ticket: str, address: str = "") -> Access | None:
    """Return the access of a ticket and use the ticket up; may raise ConnectionFailed."""
    holder = redeem(ticket)
    if holder is None:
        return None
    access = Access(
        holder.tenant_id,
        key_id=holder.key_id,
        issuer=holder.issuer,
        address=address,
        ends_at=holder.ends_at,
    )
    return access if is_still_valid(access) else None


def seconds_left(access: Access) -> float | None:
    """Return the time until the key or token of a socket ends; None for one that does not."""
    ends_at = access.ends_at
    if access.key_id is not None:
        keys = ApiKey.objects.filter(pk=access.key_id)
        with tenant_scope.scoped(access.tenant_id):
            end = keys.values_list("expires_at", flat=True).first()
        ends_at = None if end is None else end.timestamp()
    return None if ends_at is None else ends_at - database_clock.now().timestamp()


def is_still_valid(access: Access) -> bool:
    """Return whether the right by which a socket was opened is still valid."""
    with tenant_scope.scoped(access.tenant_id):
        return _is_valid(access)


def _is_valid(access: Access) -> bool:
    if access.key_id is not None:
        key = ApiKey.objects.select_related("tenant").filter(pk=access.key_id).first()
        return (
            key is not None
            and key.tenant_id == access.tenant_id
            and key.is_valid_at(database_clock.now())
            and "read" in key.scopes
            and holds(key.addresses, access.address)
            and key.tenant.suspended_at is None
        )
    if access.issuer:
        return _is_token_valid(access)
    users = User.objects.filter(pk=access.user_id or 0, is_active=True)
    user = users.first()
    if user is None or not _is_logged_in(user, access.session_key):
        return False
    method = _method_of(access.sign_in_id, user.pk)
    if method is None:
        return False
    memberships = Membership.objects.filter(open_to(method), user=user, tenant__suspended_at=None)
    return memberships.filter(tenant_id=access.tenant_id).exists()


def _is_token_valid(access: Access) -> bool:
    issuers = {one.issuer: one for one in conf().jwt_issuers}
    issuer = issuers.get(access.issuer)
    if issuer is None or access.tenant_id not in issuer.tenants.values():
        return False
    if access.ends_at is None or access.ends_at <= database_clock.now().timestamp():
        return False
    return Tenant.objects.filter(pk=access.tenant_id, suspended_at=None).exists()


def _method_of(sign_in_id: str, user_id: int) -> str | None:
    """Return by what an open session began, empty where that is not known; None for any other."""
    if not sign_in_id:
        # The session's next page records it. It has given no code.
        return "" if may_adopt(user_id) and not is_required(user_id) else None
    found = find_open(sign_in_id, user_id)
    return None if found is None or found.must_enrol else found.row.method


def _is_logged_in(user: User, session_key: str) -> bool:
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    session = store.load()
    if session.get(SESSION_KEY) != str(user.pk):
        return False
    # The hash covers the password: a change of it ends the sessions.
    stored = str(session.get(HASH_SESSION_KEY, ""))
    return constant_time_compare(stored, user.get_session_auth_hash())
