from __future__ import annotations

import argparse

import pytest

from bench.history_drop import ratio_of, rounds_of


def chosen(rounds: int, drops: int) -> argparse.Namespace:
    return argparse.Namespace(rounds=rounds, drops=drops)


def test_each_round_drops_the_oldest_days_that_are_left():
    days = ["20260101", "20260102", "20260103", "20260104", "20260105"]

    assert rounds_of(days, chosen(2, 2)) == [["20260101", "20260102"], ["20260103", "20260104"]]


@pytest.mark.parametrize(
    ("before", "during", "ratio"),
    [([10.0, 20.0, 90.0], [11.0, 22.0, 15.0], 0.75), ([10.0], [12.0], 1.2), ([], [], 0.0)],
)
def test_the_medians_are_compared(before: list[float], during: list[float], ratio: float):
    assert ratio_of(before, during) == ratio
