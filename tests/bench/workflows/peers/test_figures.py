from __future__ import annotations

from bench.workflows.peers.figures import (
    Counts,
    Kill,
    counts_of,
    gaps_ms,
    per_second,
    speed_of,
    summary_of,
    total,
)
from bench.workflows.peers.shapes import CHAIN, GRAPH, Runs

MS = 1_000_000


def in_order(runs: Runs, each_ms: int = 10) -> list[tuple[int, int]]:
    """Return the calls of all steps, each so long after the one before."""
    return [(number, (runs.at_ms + number * each_ms) * MS) for number in range(runs.calls)]


def test_gaps_are_those_within_a_chain():
    runs = Runs("", 2, 1000, shape=CHAIN)
    calls = [(0, 5 * MS), (10, 6 * MS), (1, 8 * MS), (11, 16 * MS), (1, 20 * MS), (9, 99 * MS)]

    assert gaps_ms(calls) == [3.0, 10.0]
    assert len(gaps_ms(in_order(runs))) == 18


def test_what_is_missing_is_lost_and_what_comes_twice_ran_again():
    runs = Runs("", 2, 1000, shape=CHAIN)
    calls = in_order(runs)

    assert counts_of(runs, calls).flawless
    found = counts_of(runs, [*calls[:-1], calls[0]])

    assert found == Counts(20, 19, again=1, early=0)
    assert found.lost == 1
    assert not found.flawless


def test_a_join_that_comes_before_its_fan_is_early():
    runs = Runs("", 1, 1000, shape=GRAPH)
    calls = dict(in_order(runs))
    calls[4] = calls[3] - 1

    assert counts_of(runs, list(calls.items())).early == 1
    del calls[3]

    found = counts_of(runs, list(calls.items()))

    assert (found.lost, found.early) == (1, 1)


def test_the_steps_of_a_fan_may_come_in_any_order():
    runs = Runs("", 1, 1000, shape=GRAPH)
    calls = dict(in_order(runs))
    calls[1], calls[3] = calls[3], calls[1]

    assert counts_of(runs, list(calls.items())).flawless


def test_a_rate_counts_from_the_moment_for_which_runs_were_asked():
    runs = Runs("", 1, 1000, shape=GRAPH)
    calls = [(number, (3000 + number) * MS) for number in range(9)] + [(9, 6000 * MS)]

    assert per_second(runs, calls) == 2.0
    assert per_second(runs, []) == 0.0
    speed = speed_of("it", (Runs("", 1, 1000), in_order(Runs("", 1, 1000))), (runs, calls))

    assert speed.gaps_ms.p50 == 10.0
    assert speed.calls_per_second == 3.0
    assert speed.graphs.flawless


def test_a_summary_has_medians_of_figures_and_sums_of_counts():
    chains = Runs("", 1, 1000)
    graphs = Runs("", 1, 1000, shape=GRAPH)
    speeds = [
        speed_of("it", (chains, in_order(chains, gap)), (graphs, in_order(graphs)))
        for gap in (10, 20, 90)
    ]
    kills = [Kill("it", 40, 2.0, 5.0, Counts(100, 97, 3, 0))]

    found = summary_of("it", speeds, kills)

    assert found.gaps_ms["p99"] == 20.0
    assert found.counts == Counts(60, 60, 0, 0)
    assert found.killed is not None
    assert (found.killed.lost, found.until_last_seconds) == (3, 5.0)
    assert found.as_json()["killed"]["lost"] == 3


def test_without_turns_there_are_no_figures_to_compare():
    found = summary_of("it", [], [])

    assert found.gaps_ms == {}
    assert found.steps_per_second is None
    assert found.killed is None
    assert total([]) == Counts(0, 0, 0, 0)
