"""What several tests of the worker may use."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from shared.fair_slots import Caller, FairSlots


@pytest.fixture
def callers(monkeypatch: pytest.MonkeyPatch) -> list[Caller]:
    """Return who has asked for a slot, in order."""
    asked: list[Caller] = []
    slot = FairSlots.slot

    def noted(self: FairSlots, caller: Caller) -> AbstractAsyncContextManager[None]:
        asked.append(caller)
        return slot(self, caller)

    monkeypatch.setattr(FairSlots, "slot", noted)
    return asked
