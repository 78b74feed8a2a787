"""Members of the tenant: their roles, their right to see payloads, and open invitations."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_text
from dashboard.listing import read_filters, read_page
from notifications.services.invitations import invite_member, resend_invitation
from shared.exceptions import FieldError, InvalidInput
from tenants.authority import Authority
from tenants.choices import ROLES_THAT_SEE, Role
from tenants.models import Invitation, Membership
from tenants.presentation import present_invitation, present_member
from tenants.services.invitations import LONGEST_ADDRESS, withdraw_invitation
from tenants.services.memberships import change_member, expel_member, transfer_ownership

#: Role -> what it may do, in the words of the page.
_WORDS = {
    Role.VIEWER: "looks",
    Role.OPERATOR: "also runs, retries, cancels and pauses",
    Role.ADMIN: "also changes definitions, settings and members",
    Role.OWNER: "also makes owners",
}
#: Choices of the form for the right to see payloads; the empty one follows the role.
_SIGHT = {"": None, "yes": True, "no": False}


@page(Role.ADMIN)
def members(request: ConsoleRequest) -> HttpResponse:
    """List the members, and the invitations that wait."""
    tenant = request.visitor.tenant.pk
    query = read_filters(request, {})
    rows = Membership.objects.filter(tenant_id=tenant).select_related("user")
    listed = read_page(rows, query, present=_presented, order=("-created_at", "-id"), counted=True)
    waiting = Invitation.objects.filter(tenant_id=tenant, accepted_at=None, withdrawn_at=None)
    is_owner = request.visitor.may(Role.OWNER)
    return render(
        request,
        "dashboard/members.html",
        {
            **listed,
            "query": query,
            "invitations": [
                {**present_invitation(one), "role_label": one.get_role_display()}
                for one in waiting.order_by("-created_at", "-id")
            ],
            "roles": [
                {"value": role.value, "label": role.label, "words": _WORDS[role]}
                for role in Role
                if is_owner or role is not Role.OWNER
            ],
            "is_owner": is_owner,
            "own_id": request.visitor.membership.pk,
            "longest": LONGEST_ADDRESS,
        },
    )


@action(Role.ADMIN)
def invite(request: ConsoleRequest) -> Done:
    """Offer an address a role, by a link in a message."""
    visitor = request.visitor
    made = invite_member(
        visitor.tenant.pk,
        email=read_text(request, "email", longest=LONGEST_ADDRESS),
        role=request.POST.get("role", ""),
        sees_payloads=_sight(request),
        by=_authority(request),
        actor=visitor.actor,
    )
    return Done(f"Invited. A message with a link goes to {made.email}.", _url())


@action(Role.ADMIN)
def resend(request: ConsoleRequest, invitation_id: UUID) -> Done:
    """Send a new link, which replaces the earlier one."""
    visitor = request.visitor
    renewed = resend_invitation(
        visitor.tenant.pk, invitation_id, by=_authority(request), actor=visitor.actor
    )
    return Done(f"A new link goes to {renewed.email}. The earlier one works no longer.", _url())


@action(Role.ADMIN)
def withdraw(request: ConsoleRequest, invitation_id: UUID) -> Done:
    """End an offer: its link works no longer."""
    visitor = request.visitor
    ended = withdraw_invitation(
        visitor.tenant.pk, invitation_id, by=_authority(request), actor=visitor.actor
    )
    return Done(f"Withdrawn. The link of {ended.email} works no longer.", _url())


@action(Role.ADMIN)
def change(request: ConsoleRequest, member_id: int) -> Done:
    """Change a member's role and right to see payloads, from the next page on."""
    visitor = request.visitor
    role, seen = request.POST.get("role", ""), _sight(request)
    changes: dict[str, Any] = {}
    # What the form leaves as its page showed it may have been changed by someone else meanwhile.
    if role != request.POST.get("role_before"):
        changes["role"] = role
    is_chosen = request.POST.get("sees_payloads") != request.POST.get("sees_payloads_before")
    if is_chosen and role not in ROLES_THAT_SEE and seen is not None:
        changes["sees_payloads"] = seen
    changed = change_member(
        visitor.tenant.pk, member_id, changes, by=_authority(request), actor=visitor.actor
    )
    sight = "sees payloads" if changed.sees_payloads else "sees no payloads"
    name = changed.user.get_username()
    return Done(f"{name} is {changed.get_role_display().lower()} and {sight}.", _after(request))


@action(Role.ADMIN)
def remove(request: ConsoleRequest, member_id: int) -> Done:
    """Remove a member from the tenant; the account stays."""
    visitor = request.visitor
    expel_member(visitor.tenant.pk, member_id, by=_authority(request), actor=visitor.actor)
    url = reverse("dashboard:overview") if member_id == visitor.membership.pk else _url()
    return Done("Removed. The account stays, and the API keys of the tenant stay valid.", url)


@action(Role.OWNER)
def transfer(request: ConsoleRequest, member_id: int) -> Done:
    """Make a member the owner in place of the visitor, who becomes an admin."""
    visitor = request.visitor
    made = transfer_ownership(
        visitor.tenant.pk,
        member_id,
        by=_authority(request),
        actor=visitor.actor,
        from_id=visitor.membership.pk,
    )
    return Done(f"{made.user.get_username()} is the owner now. You are an admin.", _url())


def _authority(request: ConsoleRequest) -> Authority:
    return Authority(user_id=request.visitor.user.pk)


def _sight(request: ConsoleRequest) -> bool | None:
    given = request.POST.get("sees_payloads", "")
    if given not in _SIGHT:
        message = "Choose whether the member sees payloads."
        raise InvalidInput([FieldError("#/sees_payloads", "invalid_choice", message)], message)
    return _SIGHT[given]


def _presented(found: list[Membership]) -> list[dict[str, Any]]:
    return [{**present_member(one), "role_label": one.get_role_display()} for one in found]


def _url() -> str:
    return reverse("dashboard:members")


def _after(request: ConsoleRequest) -> str:
    """Return the page after a change: an admin who stepped down may not see the members."""
    found = Membership.objects.filter(pk=request.visitor.membership.pk).values_list("role")
    role = Role(found[0][0])
    return _url() if role.rank >= Role.ADMIN.rank else reverse("dashboard:overview")
