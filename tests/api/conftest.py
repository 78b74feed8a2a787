"""The standing cast, and Redis that is away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.cast import (  # noqa: F401 - fixtures
    alpha,
    beta,
    client,
    nobody,
    owner,
    stranger,
    viewer,
)
from tests.support.closed_redis import closed_redis


@pytest.fixture
def no_redis(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what lets every question to the start guard meet a closed port."""
    closed = closed_redis()

    def cut() -> None:
        monkeypatch.setattr("wire.start_guard.client", lambda: closed)

    return cut
