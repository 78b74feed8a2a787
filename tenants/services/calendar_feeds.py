"""Calendar feeds: make, list, find by their token, revoke. Makes and revocations are audited.

A feed shows what its member may see, judged at each reading: the link works no longer once the
membership or the account has ended, or the tenant is suspended. The token is random and stored as
its hash; callers show it once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from events import audit
from shared import tenant_scope
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound, QuotaExceeded
from shared.hidden_characters import short_name_problem
from shared.tenant_scope import Purpose
from tenants.models import CalendarFeed, Membership, Tenant
from tenants.services.saved_views import member_of

MOST_OF_MEMBER = 20
NAME_LENGTH = 80
FILTER_LENGTH = 2000
_KIND = "calendar_feed"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_NOTED_EVERY = timedelta(hours=1)
#: What is told of a link that does not work, for any reason.
GONE = "There is no such calendar feed: it was revoked, or its member has left."


@transaction.atomic
def create_feed(
    tenant_id: UUID, *, name: str, filter_text: str, timezone: str, member: int, actor: Actor
) -> tuple[CalendarFeed, str]:
    """Make a feed and return it with its token, which cannot be read again.

    The caller has read the filter and the zone. Raise InvalidInput, QuotaExceeded.
    """
    if problem := short_name_problem(name, NAME_LENGTH):
        raise InvalidInput([FieldError("#/name", *problem)], problem[1])
    if len(filter_text) > FILTER_LENGTH:
        message = f"Give a filter of at most {FILTER_LENGTH} characters."
        raise InvalidInput([FieldError("#/filter", "too_long", message)], message)
    # The races: two feeds made at once would each count one less, and the member may have left.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)
    member_of(tenant_id, member)
    if CalendarFeed.objects.filter(tenant_id=tenant_id, member_id=member).count() >= MOST_OF_MEMBER:
        message = f"A member has at most {MOST_OF_MEMBER} calendar feeds. Revoke one first."
        raise QuotaExceeded(message)
    token = secrets.token_urlsafe(32)
    made = CalendarFeed.objects.create(
        tenant_id=tenant_id,
        member_id=member,
        name=name,
        filter=filter_text,
        timezone=timezone,
        token_hash=hash_token(token),
    )
    made.refresh_from_db()
    audit.record(tenant_id, actor, "calendar_feed.created", _KIND, made.id, after=_facts(made))
    return made, token


def list_feeds(tenant_id: UUID, member: int | None = None) -> list[CalendarFeed]:
    """Return the feeds of a member, or of all members of the tenant, newest first."""
    found = CalendarFeed.objects.filter(tenant_id=tenant_id).select_related("member__user")
    if member is not None:
        found = found.filter(member_id=member)
    return list(found.order_by("-id"))


@transaction.atomic
def revoke_feed(
    tenant_id: UUID, feed_id: UUID, *, actor: Actor, member: int | None = None
) -> CalendarFeed:
    """Revoke a feed, of this member where one is given; its link works no longer.

    Raise NotFound.
    """
    rows = CalendarFeed.objects.select_for_update().filter(tenant_id=tenant_id, pk=feed_id)
    if member is not None:
        rows = rows.filter(member_id=member)
    found = rows.first()
    if found is None:
        raise NotFound("There is no such calendar feed.")
    before = _facts(found)
    CalendarFeed.objects.filter(pk=feed_id, tenant_id=tenant_id).delete()
    audit.record(tenant_id, actor, "calendar_feed.revoked", _KIND, feed_id, before=before)
    return found


def find_feed(token: str) -> CalendarFeed:
    """Return the feed of a token, and work for its tenant from here on.

    Raise NotFound for a token of no feed, and for one whose member may no longer see the tenant.
    """
    if not _TOKEN.fullmatch(token):
        raise NotFound(GONE)
    with tenant_scope.across(Purpose.CALENDAR_FEED):
        found = CalendarFeed.objects.filter(token_hash=hash_token(token)).first()
    if found is None:
        raise NotFound(GONE)
    tenant_scope.enter(found.tenant_id)
    allowed = Membership.objects.filter(
        pk=found.member_id,
        tenant_id=found.tenant_id,
        user__is_active=True,
        tenant__suspended_at=None,
    )
    if not allowed.exists():
        raise NotFound(GONE)
    return found


def note_reading(feed: CalendarFeed, now: datetime) -> None:
    """Note that the feed was read, unless that was noted within the hour."""
    due = Q(last_read_at=None) | Q(last_read_at__lt=now - _NOTED_EVERY)
    rows = CalendarFeed.objects.filter(due, pk=feed.pk, tenant_id=feed.tenant_id)
    rows.update(last_read_at=now)


def hash_token(token: str) -> bytes:
    """Return the stored hash of a token. Plain SHA-256: tokens are long and random."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _facts(feed: CalendarFeed) -> dict[str, Any]:
    return {
        "name": feed.name,
        "filter": feed.filter,
        "timezone": feed.timezone,
        "member_id": feed.member_id,
    }
