from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.installation import CHECKOUT
from bench.machines_capacity import RESULTS, last, one_time, recurring, write

PAGE = CHECKOUT / "docs" / "architecture" / "capacity.md"
COSTS = {
    "machine": {"processor": "Abacus"},
    "stages": {
        "create": {"microseconds": {"web": 500.0, "postgresql": 100.0}},
        "prepare": {"microseconds": {"scheduler": 50.0, "postgresql": 100.0}},
        "run": {
            "microseconds": {
                "scheduler": 50.0,
                "worker": 350.0,
                "recorder": 50.0,
                "postgresql": 150.0,
                "valkey": 25.0,
            }
        },
    },
}
IDLE = {
    "processes": {"supervisor": 1, "postgresql": 16, "worker": 1},
    "memory_bytes": {"supervisor": 1, "postgresql": 64 * 2**20, "worker": 100 * 2**20},
}


def store(directory: Path, name: str, figures: dict[str, Any], moment: str = "1") -> None:
    (directory / f"{moment}Z-{name}.json").write_text(json.dumps(figures), encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    store(tmp_path, "costs", COSTS)
    store(tmp_path, "idle", IDLE)
    return tmp_path


def cells(page: str, first: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_what_the_stored_runs_say():
    told = "run: python -m bench.machines_capacity > docs/architecture/capacity.md"

    assert PAGE.read_text(encoding="utf-8") == write(RESULTS), told


def test_a_second_of_a_core_is_divided_by_what_an_execution_costs(results: Path):
    page = write(results)

    assert cells(page, "worker")[1:] == ["350", "2,850"]
    assert cells(page, "scheduler")[1:] == ["100", "10,000"]
    assert cells(page, "PostgreSQL")[1:] == ["250", "4,000"]
    assert cells(page, "web, a task created in bulk")[1:] == ["500", "2,000"]
    assert "a core of an Abacus" in " ".join(page.split())


def test_a_rate_takes_cores_and_of_our_own_kinds_whole_processes(results: Path):
    # 5,000 times 350 µs are 1.75 cores: two and a half processes at 70 % of a core.
    assert cells(write(results), "5,000") == [
        "5,000",
        "0.5 (1)",
        "1.8 (3)",
        "0.2 (1)",
        "1.2",
        "0.1",
    ]


def test_postgresql_is_the_limit_by_its_cores_sooner_where_tasks_are_created(results: Path):
    page = write(results)

    # 70 % of four cores, by 250 and 350 µs.
    assert cells(page, "4")[1:] == ["11,200", "8,000"]
    # 500 µs of our own kinds to 250 of PostgreSQL.
    assert "needs 0.50 cores of PostgreSQL and 0.05 of Valkey" in " ".join(page.split())
    costs = {name: stage["microseconds"] for name, stage in COSTS["stages"].items()}  # type: ignore[attr-defined]  # a dict
    assert (recurring(costs, "postgresql"), one_time(costs, "postgresql")) == (250.0, 350.0)


def test_memory_is_told_of_what_is_part_of_the_product(results: Path):
    page = write(results)

    assert cells(page, "worker")[1:] != []
    assert "| worker | 1 | 100 |" in page
    assert "| PostgreSQL | 16 | 64 |" in page
    assert "supervisor" not in page


def test_what_was_not_measured_is_left_out(results: Path):
    page = write(results)

    assert "## Disk" not in page
    assert "## Two machines beside one" not in page


def test_disk_and_a_second_machine_are_told_where_they_were_measured(results: Path):
    store(results, "history", {"bytes": 4000, "rows": 10, "attempts_every": 10})
    store(results, "machines", {"speed_up": 1.9, "times_as_dear": 1.05})

    text = " ".join(write(results).split())

    assert "400 bytes an execution" in text
    assert "a thousand a second are 32 GiB a day" in text
    assert "1.90 times as fast as one, and an execution cost 1.05 times" in text


def test_the_last_run_counts_and_no_other_report_of_a_like_name(tmp_path: Path):
    store(tmp_path, "idle", IDLE, "2026-01-01")
    store(tmp_path, "idle", IDLE, "2026-01-02")
    store(tmp_path, "live-idle", IDLE, "2026-01-03")

    assert last(tmp_path, "idle").name == "2026-01-02Z-idle.json"


def test_without_a_run_there_is_no_page(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no stored run of costs"):
        write(tmp_path)
