from __future__ import annotations

import time
from typing import cast

import pytest

from executions.loop import refusals
from shared.exceptions import Unavailable
from shared.redis_client import INCARNATION_KEY, client
from tests.support.closed_redis import closed_redis
from tests.support.starts import ask
from wire import start_guard

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def test_a_token_starts_once():
    assert ask([1, 2]) == [start_guard.GO, start_guard.GO]
    assert ask([1, 3], worker="w2", nonce="other") == [start_guard.VOID, start_guard.GO]


def test_a_question_asked_again_gets_the_same_answer():
    assert ask([1], nonce="a") == [start_guard.GO]
    assert ask([1], nonce="a") == [start_guard.GO]
    # A second copy of the message, also in the same worker, has a nonce of its own.
    assert ask([1], nonce="b") == [start_guard.VOID]


def test_a_voided_token_never_starts():
    assert start_guard.void([1]) == [""]

    assert ask([1]) == [start_guard.VOID]


def test_voiding_what_has_started_answers_its_worker():
    ask([1], worker="worker-1@host:7")

    assert start_guard.void([1, 2]) == ["worker-1@host:7", ""]
    assert start_guard.void([2]) == [""]


def test_work_of_another_incarnation_does_not_start():
    current = start_guard.current_incarnation()

    assert ask([1], incarnation="former:1") == [start_guard.STALE]
    client().delete(INCARNATION_KEY)
    assert ask([1], incarnation=current) == [start_guard.STALE]


def test_what_may_not_start_is_counted():
    start_guard.void([1])
    ask([2])

    ask([1, 2, 3], nonce="other")
    ask([4], start_by=1)
    ask([5], incarnation="former:1")

    assert refusals.read()["starts"] == 4


def test_what_is_asked_too_late_does_not_start():
    past = int(time.time() * 1000) - 1000

    assert ask([1], start_by=past) == [start_guard.LATE]
    # It left no mark: whoever takes it back finds it unstarted.
    assert start_guard.void([1]) == [""]


def test_voiding_nothing_asks_nobody(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(start_guard, "client", lambda: pytest.fail("asked"))

    assert start_guard.void([]) == []
    start_guard.settle([])


def test_voiding_without_redis_is_unavailable(monkeypatch: pytest.MonkeyPatch):
    nowhere = closed_redis()
    monkeypatch.setattr(start_guard, "client", lambda: nowhere)

    with pytest.raises(Unavailable):
        start_guard.void([1])


def test_settled_marks_go_after_a_while_but_not_at_once():
    ask([1])

    start_guard.settle([1])

    assert ask([1], nonce="copy") == [start_guard.VOID]
    assert 0 < client().ttl("punctual:guard:1") <= 60


def test_marks_do_not_stay_for_ever():
    ask([1])
    start_guard.void([2])

    for token in (1, 2):
        assert client().ttl(f"punctual:guard:{token}") > 0


def test_the_incarnation_stands_until_redis_loses_it():
    first = start_guard.current_incarnation()
    assert start_guard.current_incarnation() == first

    client().flushall()

    assert start_guard.current_incarnation() != first


def test_a_restarted_server_has_a_new_incarnation():
    client().set(INCARNATION_KEY, "another-run-id:1234")

    renewed = start_guard.current_incarnation()

    assert renewed.startswith(str(cast(dict[str, object], client().info("server"))["run_id"]))
    assert start_guard.current_incarnation() == renewed


def test_work_that_is_leased_outside_has_started():
    start_guard.mark_started([1, 2], "etl-7", start_guard.current_incarnation(), 30.5)

    assert start_guard.void([1, 2, 3]) == ["etl-7", "etl-7", ""]
    assert ask([1]) == [start_guard.VOID]
    assert 0 < client().ttl("punctual:guard:1") <= 31


def test_nothing_is_marked_under_another_incarnation_or_without_redis(
    monkeypatch: pytest.MonkeyPatch,
):
    start_guard.current_incarnation()
    start_guard.mark_started([], "etl-7", "whatever", 30)
    with pytest.raises(Unavailable):
        start_guard.mark_started([1], "etl-7", "a former one", 30)
    assert start_guard.void([1]) == [""]
    closed = closed_redis()
    monkeypatch.setattr(start_guard, "client", lambda: closed)
    with pytest.raises(Unavailable):
        start_guard.mark_started([2], "etl-7", "whatever", 30)


def test_a_renewed_incarnation_voids_what_was_sent_before():
    before = start_guard.current_incarnation()

    made = start_guard.renew_incarnation()

    assert made != before
    assert start_guard.current_incarnation() == made
    assert ask([1], incarnation=before) == [start_guard.STALE]
