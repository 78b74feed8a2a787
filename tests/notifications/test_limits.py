from __future__ import annotations

import pytest

from notifications import limits
from shared.exceptions import Unavailable
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.usefixtures("servers", "django_db_setup")


def test_a_member_sends_few_test_messages_within_ten_minutes():
    for _ in range(limits.MOST_TESTS):
        limits.count_test(1)

    with pytest.raises(limits.TooManyMessages) as refused:
        limits.count_test(1)

    assert (refused.value.code, refused.value.retry_after) == ("too_many_messages", 600)
    limits.count_test(2)


def test_few_messages_a_day_go_to_one_address_whoever_asks():
    for member in range(limits.MOST_TO_ADDRESS):
        limits.count_request(member, "Stranger@example.com")

    with pytest.raises(limits.TooManyMessages):
        limits.count_request(99, "stranger@EXAMPLE.com")


def test_a_member_asks_few_addresses_a_day():
    for number in range(limits.MOST_REQUESTS):
        limits.count_request(1, f"stranger{number}@example.com")

    with pytest.raises(limits.TooManyMessages):
        limits.count_request(1, "another@example.com")


def test_nothing_is_sent_uncounted(monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)

    with pytest.raises(Unavailable):
        limits.count_test(1)
