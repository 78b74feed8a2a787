from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications import tickets
from notifications.tickets import Holder, issue, redeem
from shared.exceptions import Unavailable
from shared.ids import new_id
from shared.redis_client import client
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db

HOLDER = Holder(new_id(), new_id())


def test_a_ticket_is_good_for_one_use():
    ticket, _ = issue(HOLDER)

    assert redeem(ticket) == HOLDER
    assert redeem(ticket) is None


def test_a_ticket_ends_within_a_minute():
    _, expires_at = issue(HOLDER)

    assert expires_at <= timezone.now() + timedelta(seconds=60)
    (key,) = client().keys("punctual:ticket:*")
    assert 0 < client().ttl(key) <= 60


def test_the_ticket_itself_is_not_kept():
    ticket, _ = issue(HOLDER)

    (key,) = client().keys("punctual:ticket:*")

    assert ticket.encode() not in key
    assert ticket not in str(client().get(key))


@pytest.mark.parametrize("text", ["", "made-up", "x" * 101, "é"])
def test_any_other_text_is_no_ticket(text: str):
    assert redeem(text) is None


def test_without_redis_there_are_no_tickets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tickets, "client", closed_redis)

    with pytest.raises(Unavailable):
        issue(HOLDER)


def test_a_ticket_remembers_a_token_and_those_of_the_version_before_are_read():
    holder = Holder(new_id(), issuer="https://login.example.com", ends_at=1_800_000_000.5)
    ticket, _ = issue(holder)
    assert redeem(ticket) == holder

    ticket, _ = issue(HOLDER)
    (key,) = client().keys("punctual:ticket:*")
    client().set(key, f'["{HOLDER.tenant_id}","{HOLDER.key_id}"]')
    assert redeem(ticket) == HOLDER
