from __future__ import annotations

from typing import Any

import pytest

from bench.processes import Usage
from bench.workflows import memory
from bench.workflows.memory import Peaks, named


def test_processes_of_a_kind_are_told_apart():
    assert named({1: "worker", 2: "web", 3: "worker"}) == {1: "worker 1", 2: "web", 3: "worker 2"}


def test_the_first_look_and_the_most_are_kept(monkeypatch: pytest.MonkeyPatch):
    seen = [{"web": 5}, {"web": 9, "worker": 2}, {"web": 7}]

    def look(_: Any) -> Usage:
        return Usage({}, seen.pop(0), {})

    monkeypatch.setattr(memory, "usage", look)
    found = Peaks({1: "web"})

    for _ in range(3):
        found.look()

    assert found.as_json() == {
        "before_bytes": {"web": 5},
        "peak_bytes": {"web": 9, "worker": 2},
    }
