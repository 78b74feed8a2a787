"""An address of a member's own is used once its owner has confirmed it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.core import signing
from django.test import Client

from events.models import AuditEntry
from notifications import limits
from notifications.limits import MOST_REQUESTS, TooManyMessages
from notifications.links import signed_address
from notifications.models import NotificationPreference
from notifications.recipients import recipient_of
from notifications.services import addresses
from notifications.services.addresses import (
    ask_again,
    confirm_address,
    send_confirmation,
    unconfirmed_address,
)
from notifications.services.preferences import update_preference
from notifications.transports.errors import TransportError
from shared.exceptions import Conflict, NotFound
from tenants.models import Membership
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp

pytestmark = pytest.mark.django_db
OTHER = "other@example.com"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the members whose addresses the system worker is to ask."""
    found: list[int] = []
    monkeypatch.setattr(addresses, "wake_confirmation", found.append)
    return found


@pytest.fixture
def member(asked: list[int]) -> Membership:
    return make_member(make_tenant())


def wish(member: Membership, address: str | None) -> NotificationPreference:
    changes = {"email_address": address}
    return update_preference(member.tenant_id, member.pk, changes, actor=ACTOR)


def confirm(member: Membership, address: str = OTHER) -> None:
    confirm_address(member.pk, address, caller="192.0.2.1")


def goes_to(member: Membership) -> str:
    found = recipient_of(member.pk)
    assert found is not None
    return found.address


def test_a_strangers_address_is_asked_and_gets_nothing_else(
    member: Membership, asked: list[int], on_commit: Any
) -> None:
    with on_commit(execute=True):
        kept = wish(member, OTHER)

    assert asked == [member.pk]
    assert (kept.email_address, kept.is_confirmed) == (OTHER, False)
    assert goes_to(member) == "ada@example.com"


def test_a_confirmed_address_is_used_from_then_on(member: Membership) -> None:
    wish(member, OTHER)

    for _ in range(2):
        confirm(member)

    assert goes_to(member) == OTHER
    entry = AuditEntry.objects.get(action="notification_address.confirmed")
    assert (entry.actor, entry.address) == (f"user:{member.user_id}", "192.0.2.1")


def test_the_last_confirmed_address_is_used_while_the_next_one_waits(member: Membership) -> None:
    wish(member, OTHER)
    confirm(member)

    wish(member, "third@example.com")

    assert goes_to(member) == OTHER
    assert unconfirmed_address(member) == "third@example.com"


def test_an_address_that_was_taken_back_has_to_be_confirmed_again(member: Membership) -> None:
    wish(member, OTHER)
    confirm(member)
    wish(member, None)
    assert goes_to(member) == "ada@example.com"

    wish(member, OTHER)

    assert goes_to(member) == "ada@example.com"


@pytest.mark.parametrize("address", ["ada@example.com", None])
def test_the_accounts_own_address_needs_no_confirmation(
    member: Membership, asked: list[int], on_commit: Any, address: str | None
) -> None:
    with on_commit(execute=True):
        kept = wish(member, address)

    assert kept.is_confirmed
    assert (asked, goes_to(member)) == ([], "ada@example.com")


def test_other_changes_do_not_ask_again(
    member: Membership, asked: list[int], on_commit: Any
) -> None:
    with on_commit(execute=True):
        wish(member, OTHER)
        changes = {"email_address": OTHER, "timezone": "Europe/Berlin"}
        update_preference(member.tenant_id, member.pk, changes, actor=ACTOR)

    assert asked == [member.pk]


def test_too_many_addresses_are_refused_and_nothing_changes(member: Membership) -> None:
    for number in range(MOST_REQUESTS):
        wish(member, f"stranger{number}@example.com")

    with pytest.raises(TooManyMessages):
        wish(member, "another@example.com")

    kept = NotificationPreference.objects.get(membership=member)
    assert kept.email_address == f"stranger{MOST_REQUESTS - 1}@example.com"


@pytest.mark.logs("confirmation.withheld")
def test_an_address_that_many_tenants_ask_gets_no_more_and_no_answer_tells(
    member: Membership, asked: list[int], on_commit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_OF_ALL_TO_ADDRESS", 0)
    monkeypatch.setattr(addresses, "send_email", lambda mail: pytest.fail("sent"))

    with on_commit(execute=True):
        kept = wish(member, OTHER)

    assert (asked, kept.email_address) == ([], OTHER)
    assert ask_again(member) == OTHER


def test_the_message_has_the_link_and_nothing_else_to_do(
    member: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish(member, OTHER)
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        assert ask_again(member) == OTHER
        send_confirmation(member.pk)

    first, second = sink.messages
    assert (sink.envelopes[0], sink.envelopes[1]) == ([OTHER], [OTHER])
    assert first["Subject"] == "Confirm your address for messages of Punctual"
    assert "/notifications/confirm/" in sink.raw[0].decode().replace("=\r\n", "")
    assert second["List-Unsubscribe"] is None


def test_the_link_asks_first_and_its_button_confirms(member: Membership) -> None:
    wish(member, OTHER)
    path = urlsplit(signed_address(member.pk, OTHER)).path
    browser = Client(enforce_csrf_checks=True)

    page = browser.get(path)
    assert (page.status_code, page["Referrer-Policy"]) == (200, "no-referrer")
    assert OTHER in page.content.decode()
    assert goes_to(member) == "ada@example.com"

    assert browser.post(path).status_code == 200
    assert goes_to(member) == OTHER


def test_a_link_for_what_is_no_longer_wanted_or_made_up_confirms_nothing(
    member: Membership,
) -> None:
    wish(member, OTHER)
    path = urlsplit(signed_address(member.pk, OTHER)).path
    wish(member, "third@example.com")
    forged = signing.dumps([member.pk, "third@example.com"], salt="notifications.links.mute")

    for address in (path, f"/notifications/confirm/{forged}", "/notifications/confirm/x"):
        assert Client().post(address).status_code == 404

    assert goes_to(member) == "ada@example.com"


def test_a_member_who_has_left_confirms_nothing(member: Membership) -> None:
    wish(member, OTHER)
    key = member.pk
    member.delete()

    with pytest.raises(NotFound):
        confirm_address(key, OTHER, caller="")
    send_confirmation(key)


def test_there_is_nothing_to_ask_where_nothing_waits(member: Membership) -> None:
    with pytest.raises(Conflict):
        ask_again(member)
    send_confirmation(member.pk)


@pytest.mark.logs("confirmation.failed")
def test_a_mail_server_that_is_away_is_tried_again_and_a_refusal_is_not(
    member: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish(member, OTHER)
    use_smtp(monkeypatch, free_port())
    with pytest.raises(TransportError):
        send_confirmation(member.pk)

    sink = SmtpSink()
    sink.refuse["RCPT"] = "550 no such mailbox"
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        send_confirmation(member.pk)


@pytest.mark.logs("confirmation.without_redis")
def test_a_broker_that_is_away_does_not_undo_what_was_saved(
    member: Membership, monkeypatch: pytest.MonkeyPatch, on_commit: Any
) -> None:
    def away(member_id: int) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(addresses, "wake_confirmation", away)

    with on_commit(execute=True):
        wish(member, OTHER)

    assert unconfirmed_address(member) == OTHER
