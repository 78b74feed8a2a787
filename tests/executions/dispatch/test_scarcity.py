from __future__ import annotations

import pytest

from executions.dispatch import scarcity, stage
from shared.redis_client import SCARCE_PREFIX, client


def test_scarcity_is_told_of_pools_that_were_noted():
    scarcity.note(["default"])

    assert scarcity.without(["default", "gpu"]) == {"gpu"}
    assert scarcity.without([]) == frozenset()


def test_a_note_ends_by_itself_and_outlives_the_next_look(monkeypatch: pytest.MonkeyPatch):
    # A look at a pool without capacity comes a second after the one before.
    assert 2 * 1000 * stage._NO_ROOM_SECONDS < scarcity._HOLDS_MS
    monkeypatch.setattr(scarcity, "_HOLDS_MS", 1_000_000)
    scarcity.note(["default"])

    assert 0 < client().pttl(SCARCE_PREFIX + "default") <= 1_000_000


def test_without_pools_redis_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scarcity, "client", None)

    scarcity.note([])
    assert scarcity.without([]) == frozenset()
