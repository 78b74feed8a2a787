from __future__ import annotations

import threading
import time

import pytest

from bench.workflows.peers.shapes import Runs
from bench.workflows.peers.starting import start_each


def test_runs_are_started_in_order_and_each_waits_for_its_time(monkeypatch: pytest.MonkeyPatch):
    clock = 0.0
    started: list[tuple[int, float]] = []

    def wait(self: threading.Event, seconds: float) -> bool:
        nonlocal clock
        clock += seconds
        return False

    monkeypatch.setattr(time, "time", lambda: clock)
    monkeypatch.setattr(threading.Event, "wait", wait)

    start_each(Runs("", 3, 1000, 500.0), lambda run: started.append((run, clock)))

    assert started == [(0, 1.0), (1, 1.5), (2, 2.0)]
