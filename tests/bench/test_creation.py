from __future__ import annotations

import pytest

from bench import creation
from bench.creation import Bulk, Singles, body_of
from executions.loop.clocks import from_epoch
from operations.proof.percentiles import distribution
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import LIMITS


def singles(latency_ms: float = 10.0, refused: int = 0) -> Singles:
    return Singles(distribution([latency_ms] * 10), refused, {"web": 0.03, "postgresql": 0.01}, 10)


def test_the_bodies_are_valid_and_differ():
    first, second = body_of(1), body_of(2)

    assert parse_create(first, now=from_epoch(0), limits=LIMITS).name == "creation 1"
    assert first["payload"] != second["payload"]


def test_the_cost_of_a_call_is_that_of_all_processes():
    assert singles().cpu_ms == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("single", "bulk", "surplus", "said"),
    [
        (singles(), Bulk(40_000, 1.0, {}), 0, []),
        (singles(refused=1), Bulk(40_000, 1.0, {}), -1, ["1 calls were refused, -1 tasks"]),
        (singles(60.0), Bulk(40_000, 1.0, {}), 0, ["p99 60 ms"]),
        (singles(), Bulk(40_000, 4.0, {}), 0, ["10000 tasks a second in bulk"]),
    ],
)
def test_what_misses_its_target_is_said(single, bulk, surplus, said):
    found = creation._faults(single, bulk, surplus)

    assert [one.startswith(start) for one, start in zip(found, said, strict=True)] == [True] * len(
        said
    )
