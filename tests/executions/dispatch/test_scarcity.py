from __future__ import annotations

import pytest

from executions.dispatch import scarcity
from shared.redis_client import SCARCE_PREFIX, client


def test_scarcity_is_told_of_pools_that_were_noted():
    scarcity.note(["default"])

    assert scarcity.without(["default", "gpu"]) == {"gpu"}
    assert scarcity.without([]) == frozenset()


def test_a_note_ends_by_itself_and_outlives_the_next_look():
    scarcity.note(["default"])

    assert 2000 < client().pttl(SCARCE_PREFIX + "default") <= 3000


def test_without_pools_redis_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scarcity, "client", None)

    scarcity.note([])
    assert scarcity.without([]) == frozenset()
