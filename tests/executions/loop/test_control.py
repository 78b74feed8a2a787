from __future__ import annotations

import orjson
import pytest

from executions.loop import control
from shared.redis_client import CONTROL_CHANNEL
from shared.redis_client import client as redis_client
from tests.support.closed_redis import closed_redis


@pytest.fixture
def channel(db):
    listener = redis_client().pubsub(ignore_subscribe_messages=True)
    listener.subscribe(CONTROL_CHANNEL)
    listener.get_message(timeout=5)
    yield listener
    listener.close()


def test_workers_hear_of_it_only_once_it_is_committed(channel, on_commit):
    with on_commit(execute=True):
        control.abort_on_commit([5, 7])
        assert channel.get_message(timeout=0.05) is None

    assert orjson.loads(channel.get_message(timeout=5)["data"]) == {"cancel": [5, 7]}


def test_nothing_to_abort_is_not_sent(db, on_commit):
    with on_commit() as callbacks:
        control.abort_on_commit([])

    assert callbacks == []


@pytest.mark.logs("abort.not_sent")
def test_redis_away_does_not_fail_what_is_committed(db, on_commit, monkeypatch):
    closed = closed_redis()
    monkeypatch.setattr(control, "client", lambda: closed)

    with on_commit(execute=True):
        control.abort_on_commit([5])
