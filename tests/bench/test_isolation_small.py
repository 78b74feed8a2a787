"""What the small tenant has waited for: late, twice, never, and while a line is half written."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import isolation_small
from bench.isolation_small import EVERY_MS, Delays, Recurring, delays_of
from operations.proof.oracle import to_text

START_MS = 1_800_000_000_000


def line(at_ms: int, delay_ms: float, task: str = "t1") -> str:
    entry: dict[str, Any] = {
        "task_id": task,
        "scheduled_for": to_text(at_ms),
        "wall_ns": round((at_ms + delay_ms) * 1e6),
        "webhook_id": "w",
        "attempt": "1",
        "fencing_token": "1",
        "path": "/ok",
        "status": 200,
        "delay_ms": 0,
        "signature_ok": None,
        "body_sha256": "",
    }
    return json.dumps(entry)


def test_tasks_fire_evenly_in_each_round():
    found = Recurring(START_MS, 4)

    instants = sorted(found.instants(START_MS + EVERY_MS, START_MS + 2 * EVERY_MS))

    assert [at - START_MS - EVERY_MS for at in instants] == [0, 2500, 5000, 7500]


def test_nothing_is_due_before_the_first_instant():
    assert list(Recurring(START_MS, 4).instants(START_MS - EVERY_MS, START_MS)) == []


def test_a_delay_counts_from_the_nominal_time_to_the_first_arrival():
    lines = [line(START_MS, 3.5), line(START_MS, 80.0), line(START_MS + 1000, 7.0)]

    assert delays_of(lines, START_MS, START_MS + 1000) == pytest.approx([3.5], abs=1e-3)


def test_two_tasks_that_are_due_at_the_same_time_have_two_delays():
    lines = [line(START_MS, 1.0, "t1"), line(START_MS, 2.0, "t2")]

    assert len(delays_of(lines, START_MS, START_MS + 1)) == 2


def test_what_has_not_arrived_counts_as_late_by_all_the_time_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ledger = tmp_path / "ledger"
    ledger.write_text(line(START_MS, 2.0) + "\n", encoding="utf-8")
    begin = START_MS / 1000
    monkeypatch.setattr(isolation_small, "time", SimpleNamespace(time=lambda: begin + 7.0))

    delays, lacking = Delays(Recurring(START_MS, 4), ledger).within(begin, begin + 10.0)

    assert lacking == 3
    assert min(delays) == pytest.approx(2.0, abs=1e-3)
    assert delays[1:] == pytest.approx([7000.0] * 3)


def test_a_line_that_is_half_written_is_read_with_the_next_window(tmp_path: Path):
    ledger = tmp_path / "ledger"
    second = line(START_MS + EVERY_MS, 5.0)
    ledger.write_text(line(START_MS, 2.0) + "\n" + second[:20], encoding="utf-8")
    found, begin = Delays(Recurring(START_MS, 1), ledger), START_MS / 1000

    first = found.within(begin, begin + 10.0)
    with ledger.open("a", encoding="utf-8") as open_ledger:
        open_ledger.write(second[20:] + "\n")

    assert first[0] == pytest.approx([2.0], abs=1e-3)
    assert found.within(begin + 10.0, begin + 20.0)[0] == pytest.approx([5.0], abs=1e-3)
