from __future__ import annotations

import random

import pytest

from bench.chaos.loads import broker_lists, copy_messages
from shared.redis_client import client

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def test_each_waiting_message_is_there_three_times_afterwards():
    client().rpush("default", b"a", b"b")

    copied = copy_messages(client(), random.Random(1))

    assert copied == {b"default": [b"a", b"b"]}
    assert sorted(client().lrange("default", 0, -1)) == [b"a"] * 3 + [b"b"] * 3


def test_lists_that_are_no_queues_are_left_alone():
    client().rpush("punctual:outcomes:refused", b"a")
    client().set("default", b"no list")

    assert broker_lists(client()) == []
