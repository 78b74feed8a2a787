"""The answers that show members, invitations, saved views and calendar feeds, for every door."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from shared import database_clock
from shared.instants import format_instant
from tenants import list_queries
from tenants.models import CalendarFeed, Invitation, Membership, SavedView


def present_member(member: Membership) -> dict[str, Any]:
    """Return a member with the account's name and address."""
    return {
        "id": member.pk,
        "name": member.user.get_username(),
        "email": member.user.email,
        "role": str(member.role),
        "sees_payloads": member.sees_payloads,
        "active": member.user.is_active,
        "created_at": format_instant(member.created_at),
    }


def present_invitation(invitation: Invitation) -> dict[str, Any]:
    """Return an offer and its status; never its token."""
    return {
        "id": str(invitation.id),
        "email": invitation.email,
        "role": str(invitation.role),
        "sees_payloads": invitation.sees_payloads,
        "status": _status(invitation),
        "invited_by": invitation.invited_by,
        "created_at": format_instant(invitation.created_at),
        "expires_at": format_instant(invitation.expires_at),
        "sent_at": _instant_or_none(invitation.sent_at),
        "mail_error": invitation.mail_error or None,
    }


def present_view(view: SavedView) -> dict[str, Any]:
    """Return a saved view with the parameters that its list has no longer."""
    return {
        "id": str(view.id),
        "list": str(view.list),
        "name": view.name,
        "query": view.query,
        "shared": view.member_id is None,
        "member": view.member_id,
        "default": view.is_default,
        "unknown_parameters": unknown_parameters(view),
        "version": view.version,
        "created_at": format_instant(view.created_at),
        "updated_at": format_instant(view.updated_at),
    }


def present_feed(feed: CalendarFeed) -> dict[str, Any]:
    """Return a calendar feed with its member; never its link."""
    return {
        "id": str(feed.id),
        "name": feed.name,
        "filter": feed.filter,
        "timezone": feed.timezone,
        "member": feed.member_id,
        "created_at": format_instant(feed.created_at),
        "last_read_at": _instant_or_none(feed.last_read_at),
    }


def unknown_parameters(view: SavedView) -> list[str]:
    """Return the names in a view's query that its list has no longer."""
    return sorted({name for name, _ in parse_qsl(view.query)} - list_queries.names_of(view.list))


def _status(invitation: Invitation) -> str:
    if invitation.accepted_at is not None:
        return "accepted"
    if invitation.withdrawn_at is not None:
        return "withdrawn"
    return "open" if invitation.is_open_at(database_clock.now()) else "expired"


def _instant_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else format_instant(moment)
