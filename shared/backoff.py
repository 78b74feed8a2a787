"""How long to wait before the next attempt, from a retry policy. Pure; called by the engine.

The policy is the API's `retry_policy`. `attempt_failed` is the number of the attempt that just
failed, from 1. Jitter `full` spreads the wait evenly from zero to the bound, so that simultaneous
failures are not retried at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

INITIAL_DELAY_SECONDS = 1.0
FACTOR = 2.0
MAX_DELAY_SECONDS = 3600.0


def delay_seconds(
    policy: Mapping[str, Any], attempt_failed: int, rand: Callable[[], float]
) -> float:
    """Return the wait after a failed attempt; `rand` gives evenly spread numbers in [0, 1)."""
    low, high = bounds(policy, attempt_failed)
    return low if low == high else low + (high - low) * rand()


def bounds(policy: Mapping[str, Any], attempt_failed: int) -> tuple[float, float]:
    """Return the shortest and the longest wait after a failed attempt, in seconds."""
    high = _nominal(policy, max(1, attempt_failed))
    return (high, high) if policy.get("jitter", "full") == "none" else (0.0, high)


def _nominal(policy: Mapping[str, Any], attempt_failed: int) -> float:
    backoff = policy.get("backoff", "exponential")
    if backoff == "listed":
        delays = policy["delays_seconds"]
        return float(delays[min(attempt_failed, len(delays)) - 1])
    initial = float(policy.get("initial_delay_seconds", INITIAL_DELAY_SECONDS))
    if backoff == "fixed":
        return initial
    return _exponential(policy, initial, attempt_failed)


def _exponential(policy: Mapping[str, Any], initial: float, attempt_failed: int) -> float:
    longest = float(policy.get("max_delay_seconds", MAX_DELAY_SECONDS))
    try:
        grown = initial * float(policy.get("factor", FACTOR)) ** (attempt_failed - 1)
    except OverflowError:
        # Beyond every float is beyond every cap; nothing grows from zero.
        grown = longest if initial else 0.0
    return min(longest, grown)
