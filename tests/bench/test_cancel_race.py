from __future__ import annotations

import pytest

from bench.cancel_race import Ended, faults
from operations.proof.ledger import Arrival


def arrival(execution: str = "x") -> Arrival:
    return Arrival("", 0, 0, execution, 1, 1, "/ok", 200, 0, None, "")


@pytest.mark.parametrize(
    ("ended", "answer", "calls"),
    [
        (Ended("x", "SUCCEEDED", 1, True), 409, 1),
        (Ended("x", "SUCCEEDED", 1, True), 202, 1),
        (Ended("x", "CANCELLED", 0, False), 202, 0),
        (Ended("x", "CANCELLED", 1, True), 202, 1),
    ],
)
def test_what_agrees_is_no_fault(ended: Ended, answer: int, calls: int):
    assert faults([ended], {"x": answer}, [arrival()] * calls) == []


@pytest.mark.parametrize(
    ("ended", "answer", "calls"),
    [
        (Ended("x", "RUNNING", 0, True), 202, 1),
        (Ended("x", "SUCCEEDED", 1, True), 409, 0),
        (Ended("x", "SUCCEEDED", 2, True), 409, 2),
        (Ended("x", "CANCELLED", 0, False), 202, 1),
        (Ended("x", "CANCELLED", 0, False), 409, 0),
        (Ended("x", "SUCCEEDED", 1, True), 500, 1),
    ],
)
def test_what_does_not_agree_is_a_fault(ended: Ended, answer: int, calls: int):
    assert faults([ended], {"x": answer}, [arrival()] * calls) != []
