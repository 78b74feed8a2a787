from __future__ import annotations

from dataclasses import replace

import pytest

from bench.peers.contenders import BURST, STEADY, THROUGHPUT
from bench.peers.figures import OWN, Ratio, Summary
from bench.peers.targets import missed_targets

FAST = Summary(
    contender=OWN,
    turns=3,
    count=10_000,
    received=10_000,
    doubled=0,
    early=0,
    per_second=9000.0,
    delays_ms={"p50": 1.0, "p95": 4.0, "p99": 19.0, "max": 25.0},
    recorded_per_second=8000.0,
    cpu_us={},
)
BULLMQ = Ratio("bullmq", per_second=1.7, p50=1.0, p95=1.0, p99=2.0)
GRAPHILE = Ratio("graphile-worker", per_second=0.5, p50=1.0, p95=1.0, p99=1.0)
CELERY = Ratio("celery", per_second=8.0, p50=None, p95=None, p99=None)


@pytest.mark.parametrize("scenario", [BURST, STEADY, THROUGHPUT])
def test_nothing_is_missed_where_every_target_is_reached(scenario: str):
    assert missed_targets(scenario, 1000, [FAST], [BULLMQ, GRAPHILE, CELERY]) == []


@pytest.mark.parametrize(
    ("scenario", "own", "ratio", "said"),
    [
        (BURST, replace(FAST, delays_ms={**FAST.delays_ms, "p95": 550.0}), BULLMQ, "p95 550.0 ms"),
        (STEADY, replace(FAST, delays_ms={**FAST.delays_ms, "p50": 2.0}), BULLMQ, "p50 2.0 ms"),
        (THROUGHPUT, replace(FAST, recorded_per_second=7999.0), CELERY, "7999 recorded a second"),
        (THROUGHPUT, replace(FAST, recorded_per_second=None), CELERY, "0 recorded a second"),
        (BURST, FAST, replace(BULLMQ, per_second=1.69), "per_second 1.69 times as good as bullmq"),
        (BURST, FAST, replace(BULLMQ, p99=1.9), "p99 1.90 times as good as bullmq"),
        (BURST, FAST, replace(GRAPHILE, p95=0.99), "p95 0.99 times as good as graphile-worker"),
        (THROUGHPUT, FAST, replace(CELERY, per_second=7.9), "per_second 7.90 times as good"),
    ],
)
def test_each_target_that_is_missed_is_told(scenario: str, own: Summary, ratio: Ratio, said: str):
    [line] = missed_targets(scenario, 1000, [own], [ratio])

    assert line.startswith("target missed: ")
    assert said in line


def test_without_the_product_no_target_is_judged():
    assert missed_targets(BURST, 1000, [replace(FAST, contender="raw")], [BULLMQ]) == []


def test_a_steady_rate_is_judged_by_the_targets_of_that_rate():
    own = replace(FAST, delays_ms={**FAST.delays_ms, "p95": 140.0, "p99": 149.0})

    assert missed_targets(STEADY, 5000, [own], []) == []
    assert len(missed_targets(STEADY, 1000, [own], [])) == 2
