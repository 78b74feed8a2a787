"""The start guard's limits of a destination, on a real Valkey and a clock that the test moves."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executions.dispatch import circuits
from shared.redis_client import client
from tests.support.scripts import HOST, Moved
from wire import start_guard
from wire.destination_key import key_of

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")

OTHER = key_of("01890000-0000-7000-8000-000000000002", "api.example.com")


def words(verdicts: Sequence[Any]) -> list[object]:
    return [verdict if isinstance(verdict, int) else verdict[0] for verdict in verdicts]


def open_circuit(redis: Moved, destination: str = HOST) -> None:
    assert redis.report(20, 20, destination=destination) == [destination, ""]


# --- no limits -----------------------------------------------------------------------------------


def test_a_destination_without_limits_and_with_a_closed_circuit_lets_everything_go():
    assert Moved().ask(1, 2, 3) == [start_guard.GO] * 3
    assert not client().keys("punctual:flying:*")


def test_tokens_of_destinations_start_once_too():
    redis = Moved()
    assert redis.ask(1, limits="1,2,") == [start_guard.PLACED]

    assert redis.ask(1, limits="1,2,") == [start_guard.PLACED]
    assert redis.ask(1, limits="1,2,", worker="w2") == [start_guard.VOID]
    assert start_guard.void([1]) == ["w1"]


def test_what_was_voided_does_not_start_although_there_is_room():
    start_guard.void([1])

    assert Moved().ask(1, limits="1,2,") == [start_guard.VOID]


# --- in flight -----------------------------------------------------------------------------------


def test_no_more_are_in_flight_than_allowed_and_the_rest_asks_again():
    redis = Moved()

    verdicts = redis.ask(*range(1, 6), limits="1,3,")

    assert words(verdicts) == [start_guard.PLACED] * 3 + [start_guard.NO_PLACE] * 2
    assert verdicts[3][1] > redis.now


def test_what_left_makes_room_and_a_place_that_a_dead_worker_kept_ends_with_its_run():
    redis = Moved()
    redis.ask(1, 2, limits="1,2,", runtime_ms=10_000)

    redis.report(1, left=[1])
    assert words(redis.ask(3, 4, limits="1,2,", runtime_ms=10_000)) == [
        start_guard.PLACED,
        start_guard.NO_PLACE,
    ]
    redis.at = 60_000
    assert words(redis.ask(5, 6, limits="1,2,")) == [start_guard.PLACED, start_guard.PLACED]


def test_a_limit_that_was_lowered_counts_at_once():
    redis = Moved()
    redis.ask(1, 2, 3, limits="1,3,")
    redis.report(1, left=[1])

    assert words(redis.ask(4, limits="1,2,")) == [start_guard.NO_PLACE]


def test_limits_that_have_just_changed_go_before_those_of_the_message():
    redis = Moved()
    circuits.announce_limits(HOST, "1,1,")

    assert words(redis.ask(1, 2)) == [start_guard.PLACED, start_guard.NO_PLACE]
    circuits.announce_limits(HOST, "")
    assert words(redis.ask(3, 4, limits="1,1,")) == [start_guard.GO, start_guard.GO]


def test_four_workers_together_get_exactly_the_places():
    found: Counter[object] = Counter()
    ready = threading.Barrier(4)

    def work(number: int) -> None:
        redis = Moved()
        ready.wait()
        for token in range(number * 100, number * 100 + 50):
            found.update(words(redis.ask(token, limits="1,7,", worker=f"w{number}")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {start_guard.PLACED: 7, start_guard.NO_PLACE: 193}


# --- rate ----------------------------------------------------------------------------------------


def test_slots_near_are_kept_for_their_tokens_and_far_ones_are_not():
    redis = Moved()

    verdicts = redis.ask(*range(1, 31), limits="1,,10")

    assert (
        words(verdicts)
        == [start_guard.GO] + [start_guard.SLOT_KEPT] * 20 + [start_guard.NO_SLOT] * 9
    )
    moments = [verdict[1] - redis.now for verdict in verdicts[1:21]]
    assert moments == [100 * number for number in range(1, 21)]


def test_a_kept_slot_is_good_at_its_moment_and_not_before():
    redis = Moved()
    redis.ask(1, 2, limits="1,,10")

    redis.at = 50
    assert redis.ask(2, limits="1,,10") == [[start_guard.SLOT_KEPT, redis.now + 50]]
    redis.at = 100
    assert redis.ask(2, limits="1,,10") == [start_guard.GO]


def test_a_slot_that_was_missed_is_asked_for_anew():
    redis = Moved()
    redis.ask(1, 2, 3, limits="1,,10")

    redis.at = 1000
    assert redis.ask(2, 3, limits="1,,10") == [
        start_guard.GO,
        [start_guard.SLOT_KEPT, redis.now + 100],
    ]


def test_slots_of_the_next_hundredth_of_a_second_are_taken_at_once():
    redis = Moved()

    verdicts = words(redis.ask(*range(1, 101), limits="1,,2000"))

    # The one of this moment, and one each half millisecond from then on.
    assert verdicts == [start_guard.GO] * 21 + [start_guard.SLOT_KEPT] * 79
    redis.at = 20
    assert words(redis.ask(101, limits="1,,2000")) == [start_guard.SLOT_KEPT]


def test_a_token_that_is_voided_while_its_slot_comes_does_not_start():
    redis = Moved()
    redis.ask(1, 2, limits="1,,10")
    start_guard.void([2])

    redis.at = 100
    assert redis.ask(2, limits="1,,10") == [start_guard.VOID]


def test_no_slot_is_kept_beyond_the_latest_start():
    redis = Moved()

    verdicts = redis.ask(1, 2, 3, limits="1,,1", start_by=redis.now + 500)

    assert words(verdicts) == [start_guard.GO, start_guard.NO_SLOT, start_guard.NO_SLOT]


@given(
    rate=st.sampled_from([0.5, 3.0, 10.0, 40.0, 400.0]),
    steps=st.lists(st.tuples(st.integers(1, 900), st.integers(0, 30)), max_size=25),
)
def test_no_second_holds_more_starts_than_the_rate_and_a_quarter(rate, steps):
    client().flushall()
    redis, tokens, starts = Moved(), iter(range(1, 10_000)), []
    waiting: dict[int, int] = {}

    for passed, fresh in steps:
        redis.at += passed
        asked = [token for token, moment in waiting.items() if moment <= redis.now]
        asked += [next(tokens) for _ in range(fresh)]
        for token, verdict in zip(asked, redis.ask(*asked, limits=f"1,,{rate}"), strict=True):
            waiting.pop(token, None)
            if verdict == start_guard.GO:
                starts.append(redis.at)
            elif verdict[0] == start_guard.SLOT_KEPT:
                waiting[token] = verdict[1]

    for start in starts:
        assert sum(start <= other < start + 1000 for other in starts) <= rate * 1.25 + 1


def test_four_workers_together_keep_the_rate():
    starts: list[int] = []
    lock = threading.Lock()

    def work(number: int, at: int) -> None:
        redis = Moved(at)
        for token in range(number * 100_000 + at, number * 100_000 + at + 20):
            verdict = redis.ask(token, limits="1,,50", worker=f"w{number}")[0]
            if verdict == start_guard.GO:
                with lock:
                    starts.append(at)

    for at in range(0, 1000, 100):
        threads = [threading.Thread(target=work, args=(number, at)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert 1 <= len(starts) <= 50 * 1.25 + 1


# --- circuit -------------------------------------------------------------------------------------


def test_an_open_circuit_lets_nothing_go_until_its_end():
    redis = Moved()
    open_circuit(redis)

    assert redis.ask(1) == [[start_guard.CIRCUIT_OPEN, redis.now + 30_000]]
    # It left no mark: it may start later.
    redis.at = 30_000
    assert redis.ask(1) == [start_guard.PROBE]


def test_no_tenant_meets_the_circuit_of_another():
    redis = Moved()
    open_circuit(redis)

    assert redis.ask(1, destination=OTHER) == [start_guard.GO]


def test_a_destination_without_a_breaker_does_not_ask_its_circuit():
    redis = Moved()
    open_circuit(redis)

    assert redis.ask(1, limits="0,,") == [start_guard.GO]


def test_one_probe_goes_at_a_time_whoever_asks():
    redis = Moved()
    open_circuit(redis)
    redis.at = 30_000

    assert words(redis.ask(1, 2)) == [start_guard.PROBE, start_guard.CIRCUIT_OPEN]
    assert words(redis.ask(3, worker="w2")) == [start_guard.CIRCUIT_OPEN]
    # Its answer was lost: it is the probe still.
    assert redis.ask(1) == [start_guard.PROBE]


def test_four_workers_together_send_one_probe():
    redis = Moved()
    open_circuit(redis)
    found: Counter[object] = Counter()
    ready = threading.Barrier(4)

    def work(number: int) -> None:
        mine = Moved(30_000)
        ready.wait()
        for token in range(number * 100, number * 100 + 25):
            found.update(words(mine.ask(token, worker=f"w{number}")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {start_guard.PROBE: 1, start_guard.CIRCUIT_OPEN: 99}


def test_a_probe_whose_worker_died_is_followed_by_another_when_its_run_is_over():
    redis = Moved()
    open_circuit(redis)
    redis.at = 30_000
    redis.ask(1, runtime_ms=10_000)

    redis.at = 44_000
    assert words(redis.ask(2)) == [start_guard.CIRCUIT_OPEN]
    redis.at = 45_000
    assert redis.ask(2) == [start_guard.PROBE]


def test_what_a_flush_loses_counts_as_closed():
    redis = Moved()
    open_circuit(redis)
    client().flushall()

    assert redis.ask(1) == [start_guard.GO]


def test_questions_about_many_destinations_are_one_call():
    redis = Moved()
    open_circuit(redis)

    from shared.redis_client import INCARNATION_KEY
    from tests.support.scripts import FAR
    from worker.entries import Question, ask_arguments

    hosts = [*(f"{HOST}{number}" for number in range(1500)), HOST]
    questions = [Question(number + 1, FAR, 1, host, "", 1000) for number, host in enumerate(hosts)]
    names, arguments = ask_arguments(start_guard.current_incarnation(), "w1", questions)
    verdicts = redis.run("start", [INCARNATION_KEY, *names], arguments)

    assert words(verdicts) == [start_guard.GO] * 1500 + [start_guard.CIRCUIT_OPEN]
