from __future__ import annotations

from dataclasses import replace

from bench.peers.figures import OWN, PERCENTILES
from bench.workflows.peers.contenders import CONTENDERS
from bench.workflows.peers.figures import Counts, Summary
from bench.workflows.peers.targets import HIGHER, LOWER, missed_targets

WHOLE = Counts(100, 100, 0, 0)


def summary(name: str, ms: float, rate: float = 100.0, killed: Counts = WHOLE) -> Summary:
    gaps = dict.fromkeys(PERCENTILES, ms)
    return Summary(name, gaps, rate, rate, WHOLE, killed, 5.0)


def test_every_peer_that_takes_part_is_judged():
    assert set(LOWER) == set(CONTENDERS) - {OWN}
    assert set(HIGHER) <= set(CONTENDERS)


def test_dbos_has_to_be_behind_throughout():
    own = summary(OWN, 10.0, 200.0)

    assert missed_targets([own, summary("dbos", 20.0)]) == []
    found = missed_targets([own, summary("dbos", 5.0, 300.0, WHOLE)])

    assert found == [
        "target missed: step to next p50 10.00 ms, dbos 5.00 ms",
        "target missed: step to next p95 10.00 ms, dbos 5.00 ms",
        "target missed: step to next p99 10.00 ms, dbos 5.00 ms",
        "target missed: steps per second 200, dbos 300",
    ]


def test_a_median_that_is_a_hop_in_redis_is_not_judged():
    own = summary(OWN, 10.0)
    quick = summary("celery-canvas", 20.0, 900.0)
    quick = replace(quick, gaps_ms={**quick.gaps_ms, "p50": 1.0})

    assert missed_targets([own, quick, summary("bullmq-flows", 20.0, 900.0)]) == []
    [line] = missed_targets([own, summary("bullmq-flows", 5.0, 900.0)])

    assert "p99 10.00 ms, bullmq-flows 5.00 ms" in line


def test_a_kill_may_lose_nothing_but_may_let_steps_run_again():
    again = summary(OWN, 10.0, killed=Counts(100, 100, 7, 0))
    lost = summary(OWN, 10.0, killed=Counts(100, 98, 0, 0))

    assert missed_targets([again]) == []
    assert len(missed_targets([lost])) == 1
    [_, line] = missed_targets([lost, summary("celery-canvas", 20.0)])

    assert line == "target missed: behind a kill 2 steps lost, celery-canvas 0"


def test_without_a_kill_every_step_runs_once():
    twice = replace(summary(OWN, 10.0), counts=Counts(100, 100, 1, 0))

    assert len(missed_targets([twice])) == 1


def test_what_did_not_take_part_misses_nothing():
    own = replace(summary(OWN, 10.0), killed=None)

    assert missed_targets([summary("dbos", 1.0)]) == []
    assert missed_targets([own, summary("bullmq-flows", 20.0, killed=Counts(10, 10, 0, 0))]) == []
