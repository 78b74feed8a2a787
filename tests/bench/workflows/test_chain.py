from __future__ import annotations

from bench.workflows.chain import ChainTurn, figures_of, gaps_ms, missed, turns_of
from operations.proof.percentiles import distribution
from tests.support.step_calls import call


def turn(length: int, *gaps: float) -> ChainTurn:
    return ChainTurn(length, distribution(gaps), distribution([1.0]), None, ())


def test_a_gap_is_from_the_answer_to_a_step_until_the_next_request_of_its_run():
    calls = [call(1, 0, 5), call(2, 8), call(3, 10), call(1, 100, run="b"), call(2, 103, run="b")]

    assert gaps_ms(calls) == [3.0, 2.0, 3.0]


def test_a_request_that_was_repeated_counts_once():
    assert gaps_ms([call(1, 0), call(2, 8), call(2, 20)]) == [8.0]


def test_every_other_round_is_backwards_and_only_a_rate_has_turns_without_chains():
    assert turns_of(2, [10, 40], 500) == [0, 10, 40, 40, 10, 0]
    assert turns_of(1, [10, 40], 0) == [10, 40]


def test_the_medians_of_each_length_are_held_to_the_targets():
    figures = figures_of([turn(10, 5.0), turn(10, 15.0), turn(10, 8.0), turn(40, 25.0)])

    assert figures["medians"]["10"]["step_to_next_ms"]["p50"] == 8.0
    assert missed(figures) == [
        "target missed: chains of 40, step to next p50 25.00 ms, not under 20 ms"
    ]


def test_turns_without_chains_have_no_gaps():
    assert figures_of([turn(0)])["medians"]["0"]["step_to_next_ms"] == {}
