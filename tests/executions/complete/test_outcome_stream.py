"""The consumer group: who reads what, and what stays until it is acknowledged."""

from __future__ import annotations

import pytest

from executions.complete import outcome_stream
from executions.complete.outcome_stream import OutcomeConsumer, ensure_group
from shared.redis_client import OUTCOME_GROUP, OUTCOME_PROMPT, OUTCOME_STREAM, client

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def consumer(name: str) -> OutcomeConsumer:
    return OutcomeConsumer(name, block_seconds=0.01)


def add(*texts: str) -> None:
    for text in texts:
        client().xadd(OUTCOME_STREAM, {"d": text})


def names() -> set[str]:
    found = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    return {one["name"].decode() for one in found}


def test_a_missing_group_is_made_and_reads_from_the_beginning() -> None:
    add("early")
    one = consumer("a")

    assert one.read(10) == []
    assert [entry.data for entry in one.read(10)] == [b"early"]


def test_two_consumers_share_the_entries() -> None:
    ensure_group()
    add("1", "2", "3")
    first, second = consumer("a"), consumer("b")

    assert [entry.data for entry in first.read(2)] == [b"1", b"2"]
    assert [entry.data for entry in second.read(2)] == [b"3"]


def test_gathering_ends_once_others_wait_for_an_outcome() -> None:
    ensure_group()
    one = consumer("a")
    one.read(1)

    client().lpush(OUTCOME_PROMPT, b"1")

    one.gather(0.0)
    assert client().llen(OUTCOME_PROMPT) == 1

    # This time would outlast the test.
    one.gather(3600.0)
    assert client().llen(OUTCOME_PROMPT) == 0

    one.gather(0.01)


def test_what_was_not_acknowledged_comes_again_before_anything_new() -> None:
    ensure_group()
    add("1", "2", "3")
    one = consumer("a")
    one.read(2)

    again = one.read(1)
    one.acknowledge(again)
    rest = one.read(5)
    one.acknowledge(rest)

    assert [entry.data for entry in again + rest] == [b"1", b"2"]
    assert [entry.data for entry in one.read(5)] == [b"3"]


def test_entries_of_a_dead_consumer_are_taken_over_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ensure_group()
    add("1")
    consumer("dead").read(5)

    assert consumer("too early").read(5) == []
    monkeypatch.setattr(outcome_stream, "_CLAIM_AFTER_MS", 0)

    assert [entry.data for entry in consumer("heir").read(5)] == [b"1"]


@pytest.mark.logs("outcomes.postponed", count=1)
def test_what_is_postponed_holds_nothing_up_and_comes_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ensure_group()
    add("1", "2")
    one = consumer("a")
    one.postpone(one.read(1))

    new = one.read(5)
    one.acknowledge(new)
    monkeypatch.setattr(outcome_stream, "_CLAIM_AFTER_MS", 0)
    monkeypatch.setattr(outcome_stream, "_CLAIM_EVERY_SECONDS", 0.0)
    late = consumer("b").read(5)

    assert [entry.data for entry in new] == [b"2"]
    assert [entry.data for entry in late] == [b"1"]


def test_an_entry_that_somebody_else_deleted_has_no_data() -> None:
    ensure_group()
    add("1")
    one = consumer("a")
    (entry,) = one.read(5)
    client().xdel(OUTCOME_STREAM, entry.id)

    (again,) = one.read(5)

    assert (again.id, again.data) == (entry.id, None)
    one.acknowledge([again])
    assert one.read(5) == []


def test_a_consumer_leaves_only_when_it_holds_nothing() -> None:
    ensure_group()
    add("1")
    one = consumer("a")
    entries = one.read(5)

    one.leave()
    assert names() == {"a"}
    one.acknowledge(entries)
    one.leave()

    assert names() == set()


def test_places_of_recorders_that_have_long_ended_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ensure_group()
    add("1")
    consumer("holds").read(5)
    consumer("empty").read(5)
    monkeypatch.setattr(outcome_stream, "_FORGET_AFTER_MS", -1)

    consumer("new").forget_the_gone()

    assert names() == {"holds"}


def test_leaving_without_a_group_is_no_error() -> None:
    consumer("a").leave()
