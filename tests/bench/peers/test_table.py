from __future__ import annotations

from dataclasses import replace

from bench.peers.figures import Ratio, Summary
from bench.peers.table import cpu_lines, ratio_lines, table


def summary(name: str, per_second: float) -> Summary:
    delays = {"p50": 20.0, "p95": 100.0, "p99": 100.0, "max": 100.0}
    cpu_us = {"postgresql": 40.0, "worker": 80.0}
    return Summary(name, 3, 10, 10, 0, 0, per_second, delays, None, cpu_us)


def test_the_table_begins_with_the_fastest_and_tells_what_went_wrong():
    slow = replace(summary("celery", 10), received=9, early=1, doubled=2)
    fast = replace(summary("punctual", 3000), recorded_per_second=2900.0)

    head, first, second = table([slow, fast])

    assert "recorded/s" in head
    assert first.split() == [
        *("punctual", "3000", "2900", "20.0", "100.0", "100.0", "100.0"),
        *("80", "120", "10/10"),
    ]
    assert second.split()[0] == "celery"
    assert second.endswith("9/10  1 early  2 doubled")


def test_the_table_shows_a_dash_where_there_is_nothing():
    _, line = table([replace(summary("celery", 10), delays_ms={})])

    assert line.split()[2:7] == ["–"] * 5


def test_what_a_webhook_costs_is_told_with_the_dearest_first():
    assert cpu_lines([summary("bullmq", 1), replace(summary("raw", 1), cpu_us={})]) == [
        "bullmq: 120.0 us of processor a webhook (worker 80.0, postgresql 40.0)",
        "raw: 0.0 us of processor a webhook (nothing measured)",
    ]


def test_ratios_say_how_many_times_more_and_how_many_times_lower():
    assert ratio_lines([Ratio("bullmq", 3.0, 4.0, 3.5, 2.5)]) == [
        "punctual to bullmq: 3.00 times the webhooks a second, p50 4.00 times lower, "
        "p95 3.50 times lower, p99 2.50 times lower"
    ]


def test_a_ratio_of_nothing_says_so():
    assert ratio_lines([Ratio("celery", None, None, None, None)]) == [
        "punctual to celery: nothing to compare"
    ]
