from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import campaign
from bench.at_rest import (
    Judged,
    faults_of,
    judge,
    judged_size,
    options,
    publish,
    sample_bodies,
    size_lines,
    start_delays,
)
from bench.at_rest_reader import Backlogs
from bench.at_rest_sides import Measured, Side, in_turn
from bench.at_rest_tables import Index, Stored, Table
from bench.installation import Installation, InstallationError
from executions.loop.clocks import from_epoch
from operations.proof.percentiles import distribution
from tasks.choices import TaskType
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import LIMITS, NOW

FAR = from_epoch(1_900_000_000)
STORED = Stored([Table("tasks", 1000, 300_000, 100_000)], [Index("t", "btree", 8192, 1000, 10)])


def measured(delay: float = 2.0, bulk: float = 40_000.0, faults: tuple[str, ...] = ()) -> Measured:
    figures = {"start delay p50, ms": delay, "bulk creates a second": bulk}
    return Measured(figures, {"claim": 100.0}, list(faults))


def test_the_samples_are_valid_of_each_kind_and_due_when_told():
    definitions = [parse_create(body, now=NOW, limits=LIMITS) for body in sample_bodies(FAR)]

    assert len(definitions) == 60
    assert sum(one.type == TaskType.ONE_TIME for one in definitions) == 20
    assert sum(one.schedule.get("cron_expression") is not None for one in definitions) == 20
    assert all(FAR.isoformat()[:10] in json.dumps(one.schedule) for one in definitions)


def test_few_samples_carry_what_the_rare_filters_look_for():
    bodies = sample_bodies(FAR)

    assert sum(body["labels"].get("rare") == "yes" for body in bodies) == 5
    assert sum("needle" in body["name"] for body in bodies) == 5


@pytest.mark.parametrize(
    ("name", "empty", "full", "ratio", "kept"),
    [
        ("list p50, ms", 10.0, 11.0, 1.1, True),
        ("list p50, ms", 10.0, 12.5, 1.25, False),
        ("bulk creates a second", 40_000.0, 20_000.0, 2.0, False),
        ("bulk creates a second", 20_000.0, 40_000.0, 0.5, True),
        ("bulk creates a second", 20_000.0, 0.0, float("inf"), False),
        ("list p50, ms", 0.0, 0.0, 1.0, True),
    ],
)
def test_a_figure_is_kept_when_it_costs_little_more_and_a_rate_the_other_way_round(
    name, empty, full, ratio, kept
):
    found = Judged(name, empty, full)

    assert found.ratio == pytest.approx(ratio)
    assert found.kept is kept
    assert str(found).endswith("kept" if kept else "missed")


def test_a_load_that_did_not_run_as_planned_is_a_fault(monkeypatch: pytest.MonkeyPatch):
    async def run(*_: object) -> SimpleNamespace:
        verdict = SimpleNamespace(
            passed=False, labels={"late": 1}, start_delay=distribution([4.0, 5.0])
        )
        return SimpleNamespace(verdict=verdict)

    monkeypatch.setattr(campaign, "run", run)

    found = start_delays(Installation("http://127.0.0.1:1", "key", {}), 200.0, 30.0)

    assert found.figures == {"start delay p50, ms": 4.0, "start delay p99, ms": 5.0}
    assert found.faults == ["the load did not run as planned: {'late': 1}"]


def test_one_bad_round_of_three_does_not_decide():
    rounds = [measured(2.0), measured(90.0, faults=("late",)), measured(4.0)]

    found = Measured.median(rounds)

    assert found.figures["start delay p50, ms"] == 4.0
    assert found.faults == ["late"]


def test_both_sides_are_measured_in_turn():
    asked: list[str] = []

    def part(ground: str, chosen: object) -> Measured:
        asked.append(ground)
        return Measured({"list ms": float(len(asked))})

    sides = [SideOfThisProcess("empty"), SideOfThisProcess("full")]
    empty, full = in_turn(cast(Any, sides), {part: 3}, options(["--rounds", "1"]))

    assert asked == ["empty", "full"] * 3
    assert (empty.figures, full.figures) == ({"list ms": 3.0}, {"list ms": 4.0})


def test_a_side_calls_in_a_process_of_its_own_and_raises_what_that_raises(tmp_path: Path):
    with Side.opened(product(tmp_path)) as side:
        assert side.call(os.getpid) != os.getpid()
        with pytest.raises(ZeroDivisionError):
            side.call(divmod, 1, 0)


def test_a_side_whose_process_dies_ends_the_report(tmp_path: Path):
    with Side.opened(product(tmp_path)) as side, pytest.raises(InstallationError, match="is gone"):
        side.call(os._exit, 1)


def product(directory: Path) -> Installation:
    """Return an installation that nobody started: who enters it only sets up."""
    return Installation("http://127.0.0.1:1", "key", {"DATA_DIR": str(directory)})


class SideOfThisProcess:
    """Stands for an installation without one."""

    def __init__(self, ground: str) -> None:
        self.ground = ground

    def call(self, function: Any, *args: Any) -> Any:
        return function(*args)


def test_every_figure_of_the_empty_system_is_compared():
    found = judge(measured().figures, measured(3.0).figures)

    assert [(one.name, one.empty, one.full) for one in found] == [
        ("start delay p50, ms", 2.0, 3.0),
        ("bulk creates a second", 40_000.0, 40_000.0),
    ]


@pytest.mark.parametrize(
    ("sizes", "size"),
    [([100_000, 1_000_000, 10_000_000], 1_000_000), ([1000, 5000], 5000)],
)
def test_a_million_is_judged_or_else_the_largest_size(sizes, size):
    assert judged_size(sizes) == size


def test_only_the_judged_size_misses_targets_while_every_size_may_have_faults():
    found = {
        1000: (measured(faults=("slow",)), measured(9.0, faults=("lost",))),
        1_000_000: (measured(), measured(3.0)),
    }

    assert faults_of(found, 1_000_000) == [
        "beside 1000 at rest: slow",
        "with 1000 at rest: lost",
        "target missed: start delay p50, ms 1.50 times (target 1.2)",
    ]


def test_a_size_shows_its_figures_and_its_blocks_beside_the_empty_ones():
    lines = size_lines(1000, measured(), measured(3.0))

    assert "1000" in lines[0]
    assert lines[1].split()[-2:] == ["0", "0"]
    assert [line.split()[-1] for line in lines[2:4]] == ["missed", "kept"]
    assert lines[4] == "  claim: 100 blocks, empty 100"


@pytest.mark.parametrize("name", ["--rounds", "--repeat"])
def test_figures_are_measured_at_least_once(name: str):
    with pytest.raises(SystemExit):
        options([name, "0"])


@pytest.mark.parametrize(
    ("delay", "last", "code"), [(2.1, 900.0, 0), (3.0, 900.0, 1), (2.1, 700.0, 1)]
)
def test_a_missed_target_of_either_part_fails_the_report(
    tmp_path: Path, delay: float, last: float, code: int
):
    chosen = options(["--results", str(tmp_path), "--start"])
    backlogs = Backlogs(20_000, [1000.0], [1000.0, last])

    assert publish({1000: (measured(), measured(delay))}, STORED, backlogs, chosen) == code
    stored = json.loads(next(tmp_path.glob("*-at-rest.json")).read_text())
    assert stored["passed"] is (code == 0)
    assert stored["sizes"]["1000"]["full"]["start delay p50, ms"] == delay


def test_a_report_without_backlogs_is_published(tmp_path: Path):
    chosen = options(["--results", str(tmp_path), "--start", "--backlogs", "0"])

    assert publish({1000: (measured(), measured())}, STORED, None, chosen) == 0


def test_figures_whose_backlogs_were_lost_are_published_as_failed(tmp_path: Path):
    chosen = options(["--results", str(tmp_path), "--start"])
    lost = ["no backlogs: creating took too long"]

    assert publish({1000: (measured(), measured())}, STORED, None, chosen, lost) == 1
    stored = json.loads(next(tmp_path.glob("*-at-rest.json")).read_text())
    assert stored["faults"] == lost
    assert stored["sizes"]["1000"]["full"] == measured().figures
