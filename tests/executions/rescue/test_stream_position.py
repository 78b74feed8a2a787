from __future__ import annotations

from typing import Any

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.rescue import stream_position
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def add() -> Any:
    return client().xadd(OUTCOME_STREAM, {"d": b"{}"})


def read() -> None:
    client().xreadgroup(OUTCOME_GROUP, "r1", {OUTCOME_STREAM: ">"})


def test_without_a_stream_nothing_waits_to_be_recorded():
    assert stream_position.end() == (0, 0)
    assert stream_position.recorded((0, 0))


def test_an_outcome_counts_as_recorded_when_it_is_acknowledged():
    ensure_group()
    entry = add()
    barrier = stream_position.end()
    assert barrier > (0, 0)

    assert not stream_position.recorded(barrier)
    read()
    assert not stream_position.recorded(barrier)  # read, and perhaps lost with its reader
    client().xack(OUTCOME_STREAM, OUTCOME_GROUP, entry)

    assert stream_position.recorded(barrier)


def test_what_comes_after_the_barrier_does_not_matter():
    ensure_group()
    entry = add()
    barrier = stream_position.end()
    add()
    read()
    client().xack(OUTCOME_STREAM, OUTCOME_GROUP, entry)

    assert stream_position.recorded(barrier)
    assert not stream_position.recorded(stream_position.end())


def test_without_recorders_nothing_is_recorded():
    add()

    assert not stream_position.recorded(stream_position.end())


def test_a_stream_that_was_lost_holds_nobody_up():
    add()
    barrier = stream_position.end()
    client().flushall()
    assert stream_position.recorded(barrier)

    # The recorders have made it again, and it is empty.
    ensure_group()

    assert stream_position.recorded(barrier)


def test_a_stream_that_lost_its_end_is_read_to_the_end_that_is_left():
    ensure_group()
    entry = add()
    barrier = (stream_position.end()[0] + 1000, 0)
    assert not stream_position.recorded(barrier)

    read()
    client().xack(OUTCOME_STREAM, OUTCOME_GROUP, entry)

    assert stream_position.recorded(barrier)
