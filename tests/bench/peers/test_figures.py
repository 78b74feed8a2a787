from __future__ import annotations

from dataclasses import replace

import pytest

from bench.peers.contender import Recorded
from bench.peers.figures import (
    Summary,
    Turn,
    cpu_us,
    rate,
    ratios,
    recorded_rate,
    summary_of,
    turn_of,
)
from bench.peers.plan import Plan
from operations.proof.percentiles import distribution

MS = 1_000_000


def turn(name: str = "punctual", per_second: float = 100.0, *delays: float) -> Turn:
    return Turn(name, 4, 4, 0, 0, per_second, distribution(delays) if delays else None)


def summary(name: str, per_second: float, p50: float, p99: float) -> Summary:
    delays = {"p50": p50, "p95": p99, "p99": p99, "max": p99}
    return Summary(name, 3, 10, 10, 0, 0, per_second, delays, None, {})


def test_delays_are_arrival_minus_the_due_time_of_that_call():
    plan = Plan("", 2, 1000, step_ms=10)

    found = turn_of("raw", plan, [(1, 1015 * MS), (0, 1002 * MS)], timed=True)

    assert found.delays_ms is not None
    assert (found.delays_ms.p50, found.delays_ms.max) == (2.0, 5.0)
    assert found.kept


def test_calls_that_are_missing_doubled_or_early_are_counted():
    plan = Plan("", 4, 1000)

    found = turn_of("raw", plan, [(0, 999 * MS), (1, 1001 * MS), (1, 1002 * MS)], timed=True)

    assert (found.received, found.doubled, found.early) == (2, 1, 1)
    assert not found.kept


def test_without_due_times_there_are_no_delays_and_nothing_is_early():
    found = turn_of("celery", Plan("", 2, 1000), [(0, 5), (1, 6)], timed=False)

    assert found.delays_ms is None
    assert found.early == 0
    assert found.as_json()["start_delay_ms"] is None


def test_the_rate_is_taken_between_the_first_and_the_last_arrival():
    assert rate([1_000_000_000, 3_000_000_000, 2_000_000_000]) == 1.0


def test_fewer_than_two_arrivals_or_none_apart_have_no_rate():
    assert rate([]) == 0.0
    assert rate([5]) == 0.0
    assert rate([5, 5]) == 0.0


def test_a_summary_holds_the_medians_and_the_worst_counts():
    turns = [turn("raw", 100, 1.0), turn("raw", 300, 9.0), turn("raw", 200, 2.0)]
    turns[1] = replace(turns[1], received=3, doubled=1, early=2)

    found = summary_of(turns)

    assert (found.turns, found.per_second, found.delays_ms["p50"]) == (3, 200, 2.0)
    assert (found.received, found.doubled, found.early) == (3, 1, 2)


def test_processor_time_is_told_for_each_call_by_kind_and_without_the_target():
    one = replace(turn("raw", 1), cpu_seconds={"worker": 0.002, "valkey": 0.001, "target": 9.0})

    found = summary_of([one])

    assert found.cpu_us == {"valkey": 250, "worker": 500}
    assert (found.worker_cpu_us, found.all_cpu_us) == (500, 750)


def test_processor_time_of_several_turns_is_their_median():
    turns = [replace(turn(), cpu_seconds={"worker": seconds}) for seconds in (0.004, 0.04, 0.008)]

    assert cpu_us(turns) == {"worker": 2000}


def test_without_any_processor_time_a_call_costs_nothing():
    assert summary_of([turn()]).all_cpu_us == 0


def test_what_is_recorded_is_counted_from_the_first_arrival_to_the_last_record():
    recorded = Recorded(30, at_ns=4_000_000_000)

    assert recorded_rate(recorded, [2_000_000_000, 1_000_000_000, 3_000_000_000]) == 10.0


def test_without_arrivals_nothing_is_recorded_a_second():
    assert recorded_rate(Recorded(0, at_ns=1), []) == 0.0


def test_a_call_that_is_not_recorded_breaks_the_promise_of_a_turn():
    plan = Plan("", 2, 1000)
    arrivals = [(0, 1001 * MS), (1, 1002 * MS)]

    whole = turn_of("punctual", plan, arrivals, timed=True, recorded=Recorded(2, 1101 * MS))
    short = turn_of("punctual", plan, arrivals, timed=True, recorded=Recorded(1, 1101 * MS))

    assert whole.recorded_per_second == 20.0
    assert whole.kept
    assert not short.kept


def test_what_is_recorded_a_second_is_a_median_too():
    rates = [replace(turn(), recorded=4, recorded_per_second=one) for one in (10.0, 30.0, 20.0)]

    assert summary_of(rates).recorded_per_second == 20.0
    assert summary_of([turn()]).as_json()["recorded_per_second"] is None


def test_no_turns_have_no_summary():
    with pytest.raises(ValueError, match="no turns"):
        summary_of([])


def test_ratios_say_how_many_times_more_and_how_many_times_lower():
    own, peer = summary("punctual", 3000, 20, 100), summary("bullmq", 1000, 80, 250)

    [found] = ratios([peer, own])

    assert (found.peer, found.per_second, found.p50, found.p99) == ("bullmq", 3.0, 4.0, 2.5)


def test_what_cannot_be_compared_is_left_out_of_a_ratio():
    own = summary("punctual", 3000, 20, 100)
    silent = replace(summary("celery", 0, 0, 0), delays_ms={})

    [found] = ratios([own, silent])

    assert set(found.as_json().values()) == {None}


def test_without_punctual_there_are_no_ratios():
    assert ratios([summary("bullmq", 1000, 80, 250)]) == []
