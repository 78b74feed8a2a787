from __future__ import annotations

import pytest
from django.db import transaction

from shared.followers import Followers

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_follower_is_called_once_and_after_the_commit():
    told: list[str] = []
    followers: Followers[str] = Followers()
    add = told.append
    followers.follow(add)
    followers.follow(add)

    with transaction.atomic():
        followers.tell("a change")
        assert told == []

    assert told == ["a change"]


def test_a_rollback_tells_nothing():
    told: list[str] = []
    followers: Followers[str] = Followers()
    followers.follow(told.append)

    with transaction.atomic():
        followers.tell("a change")
        transaction.set_rollback(True)

    assert told == []


def test_a_follower_that_fails_stops_neither_the_others_nor_the_caller():
    told: list[str] = []
    followers: Followers[str] = Followers()
    followers.follow(lambda what: 1 / 0)  # type: ignore[arg-type]  # it fails
    followers.follow(told.append)

    followers.tell("a change")

    assert told == ["a change"]
