from __future__ import annotations

import pytest

from shared import log_pace
from shared.log_pace import SECONDS, Pace


def test_each_cause_is_due_once_within_its_time(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr(log_pace, "monotonic", lambda: now)
    pace = Pace()

    first = [pace.is_due(cause) for cause in "aab"]
    now = SECONDS - 0.001
    early = pace.is_due("a")
    now = SECONDS
    late = [pace.is_due("a"), pace.is_due("a")]

    assert (first, early, late) == ([True, False, True], False, [True, False])


def test_it_remembers_a_bounded_number_of_causes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_pace, "_MOST", 2)
    pace = Pace()

    assert [pace.is_due(cause) for cause in "abcab"] == [True] * 5
    assert not pace.is_due("b")
