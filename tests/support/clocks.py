"""A clock that tests turn, for the lower bounds of looks."""

from __future__ import annotations

import pytest

from executions.loop import lower_bounds

#: What a look takes, and what lies between two looks at parts, at most.
DEAR, BETWEEN = 1.0, 20.0


class Clock:
    """Time that passes between the begin and the end of a look."""

    def __init__(self) -> None:
        self.now, self.step = 1000.0, DEAR

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, _no_part_of_a_pass_is_slow: None) -> Clock:
    made = Clock()
    monkeypatch.setattr(lower_bounds, "time", made)
    monkeypatch.setattr(lower_bounds, "_CHEAP_SECONDS", DEAR)
    # A busy machine gives no look up.
    monkeypatch.setattr(lower_bounds, "_MOST_SECONDS", 600.0)
    return made
