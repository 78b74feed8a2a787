from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from notifications import limits
from shared.exceptions import Unavailable
from tenants.models import Membership
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.usefixtures("servers", "django_db_setup")


def member(number: int, tenant_id: UUID | None = None) -> Membership:
    """Return a member that is not stored, of a tenant of its own unless told."""
    return Membership(pk=number, tenant_id=tenant_id or uuid4())


def test_a_member_sends_few_test_messages_within_ten_minutes():
    for _ in range(limits.MOST_TESTS):
        limits.count_test(1)

    with pytest.raises(limits.TooManyMessages) as refused:
        limits.count_test(1)

    assert (refused.value.code, refused.value.retry_after) == ("too_many_messages", 600)
    limits.count_test(2)


def test_few_messages_of_a_tenant_a_day_go_to_one_address_whoever_asks():
    tenant = uuid4()
    for number in range(limits.MOST_TO_ADDRESS):
        limits.count_request(member(number, tenant), "Stranger@example.com")

    with pytest.raises(limits.TooManyMessages):
        limits.count_request(member(99, tenant), "stranger@EXAMPLE.com")


def test_what_one_tenant_asks_keeps_no_other_from_asking(monkeypatch):
    monkeypatch.setattr(limits, "MOST_OF_ALL_TO_ADDRESS", limits.MOST_TO_ADDRESS + 1)
    loud = uuid4()
    for number in range(limits.MOST_TO_ADDRESS):
        limits.count_request(member(number, loud), "ada@example.com")
    for number in range(limits.MOST_TO_ADDRESS, 2 * limits.MOST_TO_ADDRESS):
        with pytest.raises(limits.TooManyMessages):
            limits.count_request(member(number, loud), "ada@example.com")

    assert limits.count_request(member(100), "ada@example.com")


def test_beyond_the_bound_of_all_tenants_a_request_is_taken_and_sends_nothing(monkeypatch):
    monkeypatch.setattr(limits, "MOST_OF_ALL_TO_ADDRESS", 1)

    assert limits.count_request(member(1), "bob@example.com")
    assert not limits.count_request(member(2), "BOB@example.com")
    assert limits.count_request(member(2), "another@example.com")


def test_a_member_asks_few_addresses_a_day():
    one = member(1)
    for number in range(limits.MOST_REQUESTS):
        limits.count_request(one, f"stranger{number}@example.com")

    with pytest.raises(limits.TooManyMessages):
        limits.count_request(one, "another@example.com")


def test_nothing_is_sent_uncounted(monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)

    with pytest.raises(Unavailable):
        limits.count_test(1)
