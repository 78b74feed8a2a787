from __future__ import annotations

from bench.in_flight import most_at_once
from operations.proof.ledger import Arrival


def arrival(at_ms: int, lasts_ms: int) -> Arrival:
    return Arrival("", 0, at_ms * 1_000_000, "", 1, 1, "/slow", 200, lasts_ms, None, "")


def test_requests_that_overlap_are_counted_together():
    assert most_at_once([arrival(0, 100), arrival(50, 100), arrival(99, 1)]) == 3


def test_one_that_ends_as_another_begins_does_not_overlap_it():
    assert most_at_once([arrival(0, 100), arrival(100, 100)]) == 1


def test_no_requests_are_none_at_once():
    assert most_at_once([]) == 0
