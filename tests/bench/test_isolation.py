from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.isolation import MOST_MS, TIMES, Alone, Window, cases_of, faults_of, options, publish
from bench.isolation_loads import KINDS, Case
from operations.proof.percentiles import distribution

ALONE = Alone(delay_p95=4.0, latency_p99=10.0)


def window(delay: float = 4.0, latency: float = 10.0, lacking: int = 0, refused: int = 0) -> Window:
    delays, latencies = distribution([delay] * 100), distribution([latency] * 100)
    return Window(delays, latencies, lacking, refused, {"worker": 5.0, "driver": 2.5}, 10.0)


def test_what_a_large_tenant_may_cost_a_small_one():
    assert faults_of(ALONE, window(delay=4.0 + MOST_MS, latency=10.0 * TIMES - 0.1)) == []


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (window(delay=4.1 + MOST_MS), "start delay p95 54.1 ms, over 54.0"),
        (window(latency=10.0 * TIMES), "API p99 20.0 ms, not below 20.0"),
        (window(lacking=1), "1 executions lacking, 0 calls refused"),
        (window(refused=2), "0 executions lacking, 2 calls refused"),
    ],
)
def test_each_limit_is_told_where_it_is_missed(beside: Window, told: str):
    assert faults_of(ALONE, beside) == [told]


def test_the_medians_of_the_turns_alone_count():
    found = Alone.of([window(delay=1.0), window(delay=9.0, latency=30.0), window(delay=2.0)])

    assert found == Alone(delay_p95=2.0, latency_p99=10.0)


def test_every_kind_of_load_runs_with_quotas_and_without():
    assert cases_of(options([])) == [Case(kind, on) for kind in KINDS for on in (False, True)]
    chosen = options(["--only", "bulk", "--quotas", "on", "--rounds", "2"])
    assert cases_of(chosen) == [Case("bulk", True)] * 2


def test_the_share_of_the_report_in_the_processor_time_is_told_apart():
    assert str(window()).endswith("cores: product 0.50, this report 0.25")


@pytest.mark.parametrize(("delay", "code"), [(20.0, 0), (900.0, 1)])
def test_one_case_beyond_a_limit_fails_the_report(
    delay: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cases = [
        (Case("bulk", False), window(), {"200": 9}),
        (Case("hangs", True), window(delay), {"started": 3}),
    ]

    assert publish([window()] * 3, cases, options(["--results", str(tmp_path)])) == code

    (stored,) = tmp_path.glob("*-isolation.json")
    told = json.loads(stored.read_text(encoding="utf-8"))
    assert told["passed"] is (code == 0)
    assert list(told["faults"]) == (["hangs, quotas on (2)"] if code else [])
    assert told["beside"][0]["large_tenant"] == {"200": 9}
    assert ("MISSED: hangs, quotas on" in capsys.readouterr().out) is bool(code)
