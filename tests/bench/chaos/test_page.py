from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.chaos import page
from bench.chaos.table import EXPERIMENTS

RUN = {
    "id": EXPERIMENTS[0].id,
    "expected": 700,
    "missed": 0,
    "duplicates": 1,
    "in_flight_at_faults": 2,
    "latest_start_ms": 4512.3,
    "passed": True,
}


def store(directory: Path, name: str, **changes: Any) -> None:
    (directory / name).write_text(json.dumps({"experiments": [{**RUN, **changes}]}))


def line(directory: Path, number: int = 0) -> str:
    return next(
        line
        for line in page.write(directory).splitlines()
        if line.startswith(f"| {EXPERIMENTS[number].fault} |")
    )


def test_a_fault_without_a_run_says_so(tmp_path: Path):
    assert line(tmp_path).endswith("| 0 | – | – | – | – | not run |")


def test_the_last_run_of_a_fault_is_told_and_how_many_there_were(tmp_path: Path):
    store(tmp_path, "2026-01-01T000000Z-chaos.json", passed=False)
    store(tmp_path, "2026-01-02T000000Z-chaos.json")

    assert line(tmp_path).endswith("| 2 | 700 | 0 | 1 (2) | 4.5 s | kept |")


def test_a_broken_promise_is_told(tmp_path: Path):
    store(tmp_path, "2026-01-01T000000Z-chaos.json", passed=False)

    assert line(tmp_path).endswith("| broken |")


def test_every_fault_has_a_name_and_a_sentence_of_its_own():
    assert len({one.id for one in EXPERIMENTS}) == len(EXPERIMENTS)
    assert len({one.fault for one in EXPERIMENTS}) == len(EXPERIMENTS)


@pytest.mark.parametrize(
    ("key", "told"), [("could_not_run", "could not run"), ("broke_off", "broke off")]
)
def test_a_fault_without_a_verdict_is_not_called_kept(tmp_path: Path, key: str, told: str):
    left_out = {"id": EXPERIMENTS[0].id, key: "hosts need root", "passed": False}
    stored = json.dumps({"experiments": [left_out]})
    (tmp_path / "2026-01-01T000000Z-chaos.json").write_text(stored)

    assert line(tmp_path).endswith(f"| {told}: hosts need root |")


def test_storms_stand_below(tmp_path: Path):
    assert "Storms" not in page.write(tmp_path)
    told = {
        "kept": False,
        "broken": ["1 never ran"],
        "seconds": 3600,
        "rate": 200,
        "strikes": [{"kind": "worker"}, {"kind": "redis"}, {"kind": "worker"}],
        "expected": 720,
        "missed": 1,
        "early": 0,
        "duplicate": 3,
        "in_flight_at_strikes": 9,
        "slowest_takeover_seconds": 7.1,
    }
    (tmp_path / "2026-01-03T000000Z-storm.json").write_text(json.dumps(told))

    last = page.write(tmp_path).splitlines()[-1]

    figures = "| 720 | 1 | 0 | 3 (9) | 7.1 s | broken: 1 never ran |"
    assert last == "| 2026-01-03 | 60 | 200 | 1 redis, 2 worker " + figures


def test_a_fault_beside_which_workflows_ran_is_marked_once_it_was_run_so(tmp_path: Path):
    store(tmp_path, "2026-01-01T000000Z-chaos.json")
    assert "(w)" not in page.write(tmp_path)

    store(tmp_path, "2026-01-02T000000Z-chaos.json", workflows=True)

    told = page.write(tmp_path)
    assert f"| {EXPERIMENTS[0].fault} (w) |" in told
    assert told.index("marked (w)") < told.index("| fault | how |")
