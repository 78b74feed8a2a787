from __future__ import annotations

import pytest

from bench.steady import missed_targets
from operations.proof.percentiles import Distribution, distribution


def delays(milliseconds: float) -> Distribution:
    return distribution([milliseconds] * 100)


@pytest.mark.parametrize(
    ("rate", "milliseconds", "missed"),
    [
        (1, 4.9, []),
        (1, 5.0, ["p95"]),
        (1000, 1.9, []),
        (1000, 4.9, ["p50"]),
        (1000, 20.0, ["p50", "p95", "p99"]),
        (5000, 1.9, []),
        (5000, 149.0, ["p50"]),
        (5000, 150.0, ["p50", "p99"]),
    ],
)
def test_each_rate_has_targets_of_its_own(rate: float, milliseconds: float, missed: list[str]):
    lines = missed_targets(rate, delays(milliseconds))

    assert [line.split()[2] for line in lines] == missed


@pytest.mark.parametrize(
    ("rate", "milliseconds", "missed"),
    [
        (1000, 49.0, []),
        (1000, 50.0, ["p99"]),
        (5000, 149.0, ["p50"]),
    ],
)
def test_beside_a_transaction_that_stays_open_work_is_late_by_less_than_this(
    rate: float, milliseconds: float, missed: list[str]
):
    lines = missed_targets(rate, delays(milliseconds), beside_reader=True)

    assert [line.split()[2] for line in lines] == missed
