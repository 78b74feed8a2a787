from __future__ import annotations

import pytest

from bench.scrape import faults_of, options, scrape
from operations.proof.percentiles import distribution
from tests.support.http_receiver import http_receiver


@pytest.mark.parametrize(
    ("slowest", "size", "faults"),
    [
        (99.9, 10, []),
        (100.0, 10, ["a scrape took 100.0 ms, not under 100"]),
        (1.0, 0, ["a scrape answered nothing"]),
    ],
)
def test_the_slowest_scrape_counts(slowest: float, size: int, faults: list[str]):
    assert faults_of(distribution([1.0, slowest]), size) == faults


def test_a_scrape_is_a_call_with_the_token():
    with http_receiver() as receiver:
        receiver.body = b"x 1"
        ms, size = scrape(f"http://127.0.0.1:{receiver.port}", "t0ken")

    [got] = receiver.requests
    assert (size, got.headers["authorization"]) == (3, "Bearer t0ken")
    assert ms > 0


def test_a_million_tasks_unless_told():
    assert options(["--start"]).tasks == 1_000_000
