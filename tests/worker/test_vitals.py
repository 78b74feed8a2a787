from __future__ import annotations

import time
from pathlib import Path

import pytest

from worker import vitals
from worker.vitals import Vitals


def test_a_process_says_its_version_processor_and_memory():
    found = Vitals().read()

    assert found.version
    assert found.cpu_percent >= 0
    assert (found.memory_bytes or 0) > 1_000_000


def test_the_share_of_the_processor_is_that_since_the_last_reading(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = {"wall": 100.0, "busy": 5.0}
    monkeypatch.setattr(time, "monotonic", lambda: clock["wall"])
    monkeypatch.setattr(time, "process_time", lambda: clock["busy"])
    measured = Vitals()

    clock.update(wall=102.0, busy=6.0)
    assert measured.read().cpu_percent == 50.0
    clock.update(wall=106.0, busy=6.0)
    assert measured.read().cpu_percent == 0.0
    assert measured.read().cpu_percent == 0.0


def test_memory_is_unknown_where_the_system_does_not_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(vitals, "_STATM", tmp_path / "none")

    assert Vitals().read().memory_bytes is None
