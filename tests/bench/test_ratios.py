from __future__ import annotations

from typing import Any

import pytest

from bench.ratios import ratios_of

RESULTS: list[tuple[dict[str, Any], dict[str, float]]] = [
    (
        {
            "report": "peers-burst",
            "punctual_to": {"bullmq": {"per_second": 1.5, "p50_lower": None, "p99_lower": 2.5}},
        },
        {"per_second to bullmq": 1.5, "p99_lower to bullmq": 2.5},
    ),
    (
        {
            "report": "at-rest",
            "sizes": {
                "1000": {
                    "empty": {"list ms": 10.0, "backlog a second": 900.0},
                    "full": {"list ms": 11.0, "backlog a second": 450.0},
                },
            },
            "judged_size": 1000,
        },
        {"list ms": 1.1, "backlog a second": 2.0},
    ),
    (
        {
            "report": "cold-tls",
            "kinds": {"cold": {"times_cold": 1.0}, "kept": {"times_cold": 20.0}},
        },
        {"kept to cold": 20.0},
    ),
    (
        {
            "report": "schedules",
            "libraries": {"punctual": {"next": 90.0}, "croniter": {"next": 30.0}},
        },
        {"next to croniter": 3.0},
    ),
    ({"report": "herd", "ratio_to_raw": 7.5}, {"ratio_to_raw": 7.5}),
    ({"report": "limits-cost", "ratio": 1.05}, {"ratio": 1.05}),
    ({"report": "history-drop", "ratio_p99": 0.98}, {"ratio_p99": 0.98}),
    (
        {"report": "machines", "speed_up": 1.9, "times_as_dear": 1.1},
        {"speed_up": 1.9, "times_as_dear": 1.1},
    ),
    ({"report": "idle", "cpu_percent": 2.0}, {}),
]


@pytest.mark.parametrize(("result", "ratios"), RESULTS, ids=lambda one: one.get("report"))
def test_the_ratios_of_a_result_are_read(result: dict[str, Any], ratios: dict[str, float]):
    assert ratios_of(result) == pytest.approx(ratios)
