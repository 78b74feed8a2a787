from __future__ import annotations

import pytest

from shared import redis_client, windowed_sets
from shared.redis_client import ConnectionFailed
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.usefixtures("servers", "django_db_setup")


def test_a_member_is_new_once_until_it_is_removed():
    assert windowed_sets.add("a", ["1", "2"], 60, 9) == [True, True]
    assert windowed_sets.add("a", ["2", "3"], 60, 9) == [False, True]
    assert windowed_sets.add("b", ["1"], 60, 9) == [True]

    windowed_sets.remove("a", ["1", "2"])

    assert windowed_sets.add("a", ["1", "2", "3"], 60, 9) == [True, True, False]


def test_a_full_set_takes_no_further_member_which_is_new_each_time():
    assert windowed_sets.add("a", ["1", "2", "3"], 60, 2) == [True, True, True]

    assert windowed_sets.add("a", ["3", "1", "2"], 60, 2) == [True, False, False]
    [key] = redis_client.client().keys("punctual:seen:*")
    assert redis_client.client().scard(key) == 2


def test_a_window_ends_with_its_first_member_and_names_are_not_stored():
    windowed_sets.add("a private name", ["1"], 60, 9)
    [key] = redis_client.client().keys("punctual:seen:*")
    redis_client.client().expire(key, 30)

    windowed_sets.add("a private name", ["2"], 60, 9)

    assert 0 < redis_client.client().ttl(key) <= 30
    assert b"private" not in key


def test_a_redis_that_is_away_is_told(monkeypatch):
    monkeypatch.setattr(windowed_sets, "client", closed_redis)

    for ask in (
        lambda: windowed_sets.add("a", ["1"], 1, 1),
        lambda: windowed_sets.remove("a", "1"),
    ):
        with pytest.raises(ConnectionFailed):
            ask()
