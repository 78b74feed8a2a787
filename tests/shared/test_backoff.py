from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.backoff import bounds, delay_seconds

POLICY = {
    "max_attempts": 5,
    "backoff": "exponential",
    "initial_delay_seconds": 1,
    "factor": 2,
    "max_delay_seconds": 3600,
    "jitter": "full",
}


@pytest.mark.parametrize(
    ("policy", "longest"),
    [
        ({}, [1, 2, 4, 8, 16]),
        ({"initial_delay_seconds": 0.5, "factor": 3}, [0.5, 1.5, 4.5]),
        ({"max_delay_seconds": 5}, [1, 2, 4, 5, 5]),
        ({"factor": 1}, [1, 1, 1]),
        ({"initial_delay_seconds": 0}, [0, 0, 0]),
        ({"initial_delay_seconds": 90, "max_delay_seconds": 60}, [60, 60]),
        ({"backoff": "fixed", "initial_delay_seconds": 7.5}, [7.5, 7.5, 7.5]),
        ({"backoff": "listed", "delays_seconds": [5, 300, 1800]}, [5, 300, 1800, 1800, 1800]),
        # A delay that somebody wrote down is not capped by the default.
        ({"backoff": "listed", "delays_seconds": [36_000]}, [36_000, 36_000]),
    ],
)
def test_the_bound_grows_by_the_policy(policy, longest):
    for number, seconds in enumerate(longest, start=1):
        assert bounds(POLICY | policy, number) == (0, seconds)
        assert bounds(POLICY | policy | {"jitter": "none"}, number) == (seconds, seconds)


def test_defaults_are_those_of_the_api():
    assert [bounds({}, number) for number in (1, 2, 3, 20)] == [(0, 1), (0, 2), (0, 4), (0, 3600)]


def test_full_jitter_is_even_between_the_bounds():
    assert delay_seconds(POLICY, 4, lambda: 0.0) == 0
    assert delay_seconds(POLICY, 4, lambda: 0.25) == 2
    assert delay_seconds(POLICY, 4, lambda: 0.75) == 6


def test_without_jitter_no_random_number_is_drawn():
    assert delay_seconds(POLICY | {"jitter": "none"}, 3, lambda: math.nan) == 4


@pytest.mark.parametrize("factor", [2, 2.5, 10, 1e300])
def test_huge_attempt_numbers_do_not_overflow(factor):
    assert bounds(POLICY | {"factor": factor}, 10**9) == (0, 3600)
    assert bounds(POLICY | {"factor": factor, "initial_delay_seconds": 0}, 10**9) == (0, 0)


@given(
    st.floats(0, 1e6),
    st.floats(1, 100),
    st.floats(0, 1e6),
    st.integers(0, 10_000),
    st.floats(0, 1, exclude_max=True),
)
def test_a_delay_is_within_its_bounds_and_the_cap(initial, factor, cap, number, draw):
    policy = POLICY | {
        "initial_delay_seconds": initial,
        "factor": factor,
        "max_delay_seconds": cap,
    }
    low, high = bounds(policy, number)

    assert low == 0
    assert high <= cap
    assert low <= delay_seconds(policy, number, lambda: draw) <= high
    assert high <= bounds(policy, number + 1)[1]
