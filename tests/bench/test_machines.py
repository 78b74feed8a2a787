from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from bench import machines
from bench.chaos import hosts
from bench.chaos.hosts import HostsError
from bench.installation import InstallationError
from bench.machines import (
    BACKLOG,
    CORES_EACH,
    STEADY,
    Run,
    by_kind,
    lines_of,
    main,
    measure,
    network,
    options,
    publish,
    times,
)
from bench.peers.contender import CouldNotRunError
from bench.peers.figures import TARGET, Turn
from operations.proof.percentiles import distribution

CPU = {"worker@machine-1": 0.1, "worker@machine-2": 0.2, "postgresql": 0.4, TARGET: 9.0}


def turn(count: int = 1000, **other: Any) -> Turn:
    figures: dict[str, Any] = {
        "received": count,
        "doubled": 0,
        "early": 0,
        "per_second": 500.0,
        "delays_ms": distribution([1.0, 2.0]),
        "recorded": count,
        "recorded_per_second": 400.0,
        "cpu_seconds": CPU,
    }
    return Turn("punctual", count, **(figures | other))


def run(machines: int = 2, load: str = BACKLOG, **other: Any) -> Run:
    names = ["machine-1", "machine-2"][:machines]
    shares = {kind: dict.fromkeys(names, 500) for kind in ("scheduler", "worker")}
    figures: dict[str, Any] = {
        "turn": turn(),
        "shares": shares,
        "recorders": names,
        "shared_out": True,
    }
    return Run(machines, load, **(figures | other))


def test_what_an_execution_costs_is_summed_over_the_machines_without_the_receiver():
    assert run().microseconds == {"postgresql": 400.0, "worker": 300.0}


def test_the_dearest_kind_is_first():
    assert list(by_kind({"a@1": 1.0, "b": 3.0, "a@2": 1.5})) == ["b", "a"]


def test_a_machine_that_did_nothing_breaks_the_promise():
    shares = {"scheduler": {"machine-1": 1000}, "worker": {"machine-1": 1, "machine-2": 999}}

    found = run(shares=shares, recorders=["machine-2"])

    assert found.idle == ["recorder of machine-1", "scheduler of machine-2"]
    assert not found.kept
    assert any(line.strip() == "IDLE: the scheduler of machine-2" for line in lines_of(found))


def test_one_machine_is_not_blamed_for_the_other():
    assert run(machines=1).kept


@pytest.mark.parametrize(
    "broken", [{"doubled": 1}, {"early": 1}, {"received": 999}, {"recorded": 999}]
)
def test_whatever_is_missed_doubled_early_or_unrecorded_breaks_the_promise(broken: dict[str, int]):
    assert not run(turn=turn(**broken)).kept


def test_two_machines_are_told_beside_one_by_the_backlog():
    runs = [
        run(1, turn=turn(recorded_per_second=400.0)),
        run(2, turn=turn(recorded_per_second=740.0, cpu_seconds={"worker@machine-1": 0.77})),
        run(1, STEADY, turn=turn(recorded_per_second=1.0)),
    ]

    assert times(runs) == (1.85, 1.1)


def test_the_figures_are_told_with_the_share_of_the_processor():
    lines = lines_of(run())

    assert f"{CORES_EACH:g} of a core each: 1000/1000 recorded, 400 a second" in lines[0]
    assert "missed 0, doubled 0, early 0" in lines[0]
    assert "postgresql 400, worker 300" in lines[2]
    assert "scheduler: machine-1 500, machine-2 500" in lines[3]


@pytest.mark.parametrize(("kept", "code"), [(True, 0), (False, 1)])
def test_the_result_is_stored_and_a_broken_promise_is_the_exit_code(
    kept: bool, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    chosen = options(["--results", str(tmp_path)])
    runs = [run(1), run(2, recorders=["machine-1", "machine-2"] if kept else [])]

    assert publish(runs, chosen) == code

    stored = json.loads(next(tmp_path.glob("*-machines.json")).read_text(encoding="utf-8"))
    assert stored["passed"] is kept
    assert stored["speed_up"] == 1.0
    assert [one["machines"] for one in stored["runs"]] == [1, 2]
    assert stored["runs"][1]["cores_each"] == CORES_EACH
    assert stored["runs"][1]["sum"] == 700.0
    assert ("PASSED" if kept else "FAILED") in capsys.readouterr().out


def test_it_is_said_where_machines_could_not_have_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    chosen = options(["--results", str(tmp_path)])

    publish([run(1, shared_out=False), run(2, shared_out=False)], chosen)

    assert "all machines shared the same cores" in capsys.readouterr().out


def test_both_loads_are_taken_on_one_machine_and_on_two(monkeypatch: pytest.MonkeyPatch):
    made: list[tuple[int, float | None]] = []
    loads = []

    def make(count: int, cores: float | None) -> Any:
        made.append((count, cores))
        return SimpleNamespace(shares={}, recorders=[], shared_out=False)

    def take(maker: Any, target: Any, load: Any) -> Turn:
        maker()
        loads.append((load.count, load.step_ms))
        return turn()

    monkeypatch.setattr(machines, "Machines", make)
    monkeypatch.setattr(machines, "take", take)

    chosen = options(["--count", "5000", "--rate", "50", "--seconds", "10"])
    found = measure(None, chosen)  # type: ignore[arg-type]  # the fake take does not use it

    assert [(one.load, one.machines) for one in found] == [
        (BACKLOG, 1),
        (BACKLOG, 2),
        (STEADY, 1),
        (STEADY, 2),
    ]
    assert made == [(1, CORES_EACH), (2, CORES_EACH), (1, None), (2, None)]
    assert loads == [(5000, 0.0), (5000, 0.0), (500, 20.0), (500, 20.0)]


@pytest.mark.parametrize("words", ["--count 0", "--rate 0", "--rate 1 --seconds 0.5"])
def test_a_load_of_nothing_is_refused(words: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        options(words.split())

    assert "1 webhook or more" in capsys.readouterr().err


def test_without_root_it_could_not_run_and_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(InstallationError, match="need root, ip"):
        main([])


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(InstallationError, match="machines need unshare and hostname"), network():
        pass


@pytest.mark.parametrize(
    "error", [CouldNotRunError("no"), psycopg.OperationalError("no"), HostsError("no")]
)
def test_what_could_not_run_is_told_in_one_line_and_the_hosts_removed(
    monkeypatch: pytest.MonkeyPatch, error: Exception
):
    removed: list[bool] = []

    @contextmanager
    def made() -> Iterator[None]:
        try:
            yield
        finally:
            removed.append(True)

    monkeypatch.setattr(hosts, "network", made)
    monkeypatch.setattr("shutil.which", lambda name: name)

    with pytest.raises(InstallationError, match="no"), network():
        raise error

    assert removed == [True]
