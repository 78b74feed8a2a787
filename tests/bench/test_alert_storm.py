from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.alert_storm import Window, allowed_p99, faults_of, options, publish
from operations.proof.percentiles import distribution


def window(
    with_alerts: bool, delay: float = 10.0, *, failed: int = 100, counted: int = -1, **parts: int
) -> Window:
    counted = (failed if with_alerts else 0) if counted < 0 else counted
    parts = {"lacking": 0, "messages": 3 if with_alerts else 0, **parts}
    delays = distribution([delay] * 100)
    return Window(with_alerts, delays, failed=failed, counted=counted, **parts)


def test_the_medians_of_both_sides_are_compared():
    kept = [window(False, 10.0), window(True, 15.0), window(True, 90.0), window(True, 1.0)]

    assert faults_of(kept, 100) == []
    assert faults_of([window(False), window(True, 15.1)], 100) == [
        "start delay p99 15.1 ms, over 15.0"
    ]


def test_a_tenth_is_allowed_where_that_is_more():
    assert (allowed_p99(10.0), allowed_p99(100.0)) == (15.0, 110.0)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (window(True, counted=99), "window 2: 100 failed, 99 were counted"),
        (window(True, failed=99), "window 2: 99 failed, 99 were counted"),
        (window(True, messages=4), "window 2: 4 messages"),
        (window(True, messages=0), "window 2: 0 messages"),
        (window(True, lacking=2), "window 2: 2 executions lacking"),
    ],
)
def test_each_broken_promise_is_told(broken: Window, told: str):
    assert faults_of([window(False), broken], 100) == [told]


def test_it_publishes_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    chosen = options(["--start", "--failures", "100", "--results", str(tmp_path)])

    assert publish([window(False), window(True)], chosen) == 0
    assert publish([window(False), window(True, 99.0)], chosen) == 1
    stored = [json.loads(one.read_text("utf-8")) for one in tmp_path.iterdir()]
    assert stored
    assert "FAILED" in capsys.readouterr().out
