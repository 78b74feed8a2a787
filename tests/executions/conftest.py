"""The standing cast of these tests, and Redis that is away."""

from __future__ import annotations

import pytest

from tests.support.cast import (  # noqa: F401 - fixtures
    alpha,
    beta,
    client,
    nobody,
    stranger,
    viewer,
)
from tests.support.closed_redis import closed_redis
from tests.support.loops import doors_of_the_loops  # noqa: F401 - the role of each call of the loops
from tests.support.standing_clock import standing_clock  # noqa: F401 - stops it for each test


@pytest.fixture
def no_redis(monkeypatch):
    """Let every question to Redis meet a closed port."""
    closed = closed_redis()

    def cut() -> None:
        for place in ("wire.start_guard.client", "executions.loop.control.client"):
            monkeypatch.setattr(place, lambda: closed)

    return cut
