from __future__ import annotations

import pytest

from shared import redis_client, windowed_counts
from shared.redis_client import ConnectionFailed
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.usefixtures("servers", "django_db_setup")


def test_events_are_counted_by_name_until_they_are_forgotten():
    assert windowed_counts.count(["a", "b"], 60) == [1, 1]
    assert windowed_counts.count(["a"], 60) == [2]
    assert windowed_counts.counts_of(["a", "b", "c"]) == [2, 1, 0]

    windowed_counts.forget(["a"])

    assert windowed_counts.counts_of(["a", "b"]) == [0, 1]


def test_a_window_ends_with_its_first_event_and_names_are_not_stored():
    windowed_counts.count(["a password typed too early"], 60)
    [key] = redis_client.client().keys("punctual:count:*")
    redis_client.client().expire(key, 30)

    windowed_counts.count(["a password typed too early"], 60)

    assert 0 < redis_client.client().ttl(key) <= 30
    assert b"password" not in key


def test_a_redis_that_is_away_is_told(monkeypatch):
    monkeypatch.setattr(windowed_counts, "client", closed_redis)

    for ask in (lambda: windowed_counts.counts_of(["a"]), lambda: windowed_counts.count(["a"], 1)):
        with pytest.raises(ConnectionFailed):
            ask()
