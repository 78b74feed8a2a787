"""Calendar feeds: whose they are, what their link opens, and until when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest

from events.models import AuditEntry
from shared import database_clock
from shared.exceptions import InvalidInput, NotFound, QuotaExceeded
from tenants.models import CalendarFeed, Membership, Tenant
from tenants.services import calendar_feeds
from tenants.services.calendar_feeds import (
    create_feed,
    find_feed,
    hash_token,
    list_feeds,
    note_reading,
    revoke_feed,
)
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha() -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def ada(alpha: Tenant) -> Membership:
    return make_member(alpha, "ada")


def make(member: Membership, **given: Any) -> tuple[CalendarFeed, str]:
    fields: Any = {"name": "Nightly", "filter_text": "", "timezone": "UTC", **given}
    return create_feed(member.tenant_id, member=member.pk, actor=ACTOR, **fields)


def test_a_token_finds_its_feed_and_is_stored_as_a_hash_alone(ada):
    feed, token = make(ada)

    assert find_feed(token) == feed
    assert bytes(feed.token_hash) == hash_token(token)
    assert token not in str(CalendarFeed.objects.values().get())
    entry = AuditEntry.objects.get(action="calendar_feed.created")
    assert token not in str((entry.before, entry.after))
    assert orjson.loads(entry.after or "")["member_id"] == ada.pk


@pytest.mark.parametrize("token", ["", "a", "a" * 43, "a" * 44, "é" * 43, "a" * 42 + "\x00"])
def test_other_tokens_find_none(ada, token):
    make(ada)

    with pytest.raises(NotFound):
        find_feed(token)


def test_a_feed_ends_with_the_account_the_membership_and_the_suspension(alpha, ada):
    _, token = make(ada)
    bob = make_member(alpha, "bob")
    _, of_bob = make(bob)
    ada.user.is_active = False
    ada.user.save()

    with pytest.raises(NotFound):
        find_feed(token)
    bob.delete()
    with pytest.raises(NotFound):
        find_feed(of_bob)
    _, of_eve = make(make_member(alpha, "eve"))
    suspend(alpha)
    with pytest.raises(NotFound):
        find_feed(of_eve)


def test_a_revoked_feed_is_gone_and_only_its_member_revokes_it(alpha, ada):
    feed, token = make(ada)
    bob = make_member(alpha, "bob")

    for wrong in ({"member": bob.pk}, {"tenant_id": make_tenant("Beta").id}):
        with pytest.raises(NotFound):
            revoke_feed(**{"tenant_id": alpha.id, "feed_id": feed.id, "actor": ACTOR, **wrong})
    revoke_feed(alpha.id, feed.id, actor=ACTOR, member=ada.pk)

    with pytest.raises(NotFound):
        find_feed(token)
    assert AuditEntry.objects.filter(action="calendar_feed.revoked").count() == 1


def test_members_see_their_own_feeds_and_the_tenant_all(alpha, ada):
    bob = make_member(alpha, "bob")
    first, second = make(ada)[0], make(bob)[0]
    make(make_member(make_tenant("Beta"), "eve"))

    assert list_feeds(alpha.id, ada.pk) == [first]
    assert list_feeds(alpha.id) == [second, first]


def test_a_member_has_a_bounded_number_of_feeds(ada, monkeypatch):
    monkeypatch.setattr(calendar_feeds, "MOST_OF_MEMBER", 1)
    make(ada)

    with pytest.raises(QuotaExceeded):
        make(ada)


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ({"name": " "}, "#/name"),
        ({"name": "a" * 81}, "#/name"),
        ({"name": "a\u200bb"}, "#/name"),
        ({"filter_text": "a" * 2001}, "#/filter"),
    ],
)
def test_what_cannot_be_stored_is_refused(ada, parts, pointer):
    with pytest.raises(InvalidInput) as refused:
        make(ada, **parts)

    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_a_reading_is_noted_once_an_hour(ada):
    feed, _ = make(ada)
    first = database_clock.now()

    for minutes in (0, 30, 61):
        note_reading(feed, first + timedelta(minutes=minutes))
        feed.refresh_from_db()
        noted = 0 if minutes < 60 else minutes
        assert feed.last_read_at == first + timedelta(minutes=noted)
