from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from http.client import BadStatusLine
from pathlib import Path

import pytest

from bench.peers import __main__ as peers
from bench.peers import install
from bench.peers.contender import Contender, CouldNotRunError
from bench.peers.contenders import CONTENDERS, SCENARIOS
from bench.peers.figures import Turn
from bench.peers.turn import Load
from operations.proof.percentiles import distribution


def turn(
    name: str, received: int = 4, doubled: int = 0, early: int = 0, recorded: int | None = None
) -> Turn:
    delays = distribution([1.0, 2.0])
    return Turn(name, 4, received, doubled, early, 100.0, delays, recorded)


class Stage:
    """Turns without contenders: what each gets, and what comes of it."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.loads: dict[str, Load] = {}
        self.turns: dict[str, Turn] = {}

    def take(self, make: Callable[[], Contender], receiver: object, load: Load) -> Turn:
        name = make.name  # type: ignore[attr-defined]  # a class
        self.order.append(name)
        self.loads[name] = load
        if name not in self.turns:
            raise CouldNotRunError("it is not there")
        return self.turns[name]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    found = Stage()
    monkeypatch.setattr(peers, "take", found.take)
    monkeypatch.setattr(install, "ensure", lambda kinds: {})
    for one in CONTENDERS.values():
        monkeypatch.setattr(one, "versions", lambda self: {"it": "1.0"})
    return found


def stored(results: Path) -> dict[str, object]:
    [path] = results.glob("*.json")
    result: dict[str, object] = json.loads(path.read_text())
    return result


def run(stage: Stage, results: Path, *arguments: str) -> int:
    return peers.main([*arguments, "--results", str(results)])


def test_rounds_are_interleaved_and_their_medians_stored(stage: Stage, tmp_path: Path):
    stage.turns = {"punctual": turn("punctual"), "raw": turn("raw")}

    code = run(stage, tmp_path, "burst", "--only", "raw", "punctual", "--rounds", "2")

    assert code == 0
    assert stage.order == ["punctual", "raw", "raw", "punctual"]
    result = stored(tmp_path)
    assert result["report"] == "peers-burst"
    equal = {"per_second": 1.0, "p50_lower": 1.0, "p95_lower": 1.0, "p99_lower": 1.0}
    assert result["punctual_to"] == {"raw": equal}
    assert result["peer_versions"] == {"punctual": {"it": "1.0"}, "raw": {"it": "1.0"}}
    assert len(result["turns"]) == 4  # type: ignore[arg-type]  # a list


def test_what_a_webhook_costs_and_what_is_recorded_are_told(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stage.turns = {
        "punctual": replace(
            turn("punctual", recorded=4),
            recorded_per_second=80.0,
            cpu_seconds={"recorder": 0.0004, "worker": 0.001, "target": 1.0},
        )
    }

    assert run(stage, tmp_path, "throughput", "--only", "punctual", "--rounds", "1") == 1

    said = capsys.readouterr().out
    assert "recorded 4, 80 a second" in said
    assert "punctual: 350.0 us of processor a webhook (worker 250.0, recorder 100.0)" in said
    assert "target missed: 80 recorded a second, not 8000" in said


@pytest.mark.parametrize("wrong", [{"received": 3}, {"doubled": 1}, {"early": 1}, {"recorded": 3}])
def test_a_broken_promise_of_punctual_fails_the_report(
    stage: Stage, tmp_path: Path, wrong: dict[str, int]
):
    stage.turns = {"punctual": turn("punctual", **wrong)}

    assert run(stage, tmp_path, "--only", "punctual", "raw", "--rounds", "1") == 1
    assert stored(tmp_path)["passed"] is False


def test_a_peer_that_loses_calls_leaves_the_report_incomplete(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stage.turns = {"punctual": turn("punctual"), "raw": turn("raw", received=1)}

    assert run(stage, tmp_path, "--only", "punctual", "raw", "--rounds", "1") == 2
    assert "INCOMPLETE" in capsys.readouterr().out
    result = stored(tmp_path)
    assert result["could_not_run"] == ["raw: 1 of 4 webhooks arrived"]
    assert set(result["medians"]) == {"punctual", "raw"}  # type: ignore[call-overload]  # a dict


@pytest.mark.parametrize(
    "error", [EOFError("closed"), BadStatusLine("closed"), ConnectionError("closed")]
)
def test_a_connection_that_breaks_ends_a_turn_and_not_the_report(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def take(make: Callable[[], Contender], receiver: object, load: Load) -> Turn:
        raise error

    monkeypatch.setattr(peers, "take", take)

    assert run(stage, tmp_path, "--only", "raw", "--rounds", "1") == 2
    assert "closed" in str(stored(tmp_path)["could_not_run"])


def test_each_round_begins_with_another():
    assert peers.turned(["a", "b", "c"], 0) == ["a", "b", "c"]
    assert peers.turned(["a", "b", "c"], 4) == ["b", "c", "a"]
    assert peers.turned([], 1) == []


def test_who_gets_fewer_webhooks_than_the_title_says_is_named(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run(stage, tmp_path, "--only", "raw", "django-celery-beat", "--rounds", "1")

    said = capsys.readouterr().out
    assert "django-celery-beat: 1000 of them" in said
    assert "raw: 10000 of them" not in said


def test_a_peer_that_cannot_run_has_a_reason_and_no_figures(stage: Stage, tmp_path: Path):
    stage.turns = {"punctual": turn("punctual")}

    assert run(stage, tmp_path, "--only", "punctual", "raw", "--rounds", "1") == 2
    result = stored(tmp_path)
    assert result["could_not_run"] == ["raw: it is not there"]
    assert list(result["medians"]) == ["punctual"]  # type: ignore[call-overload]  # a dict


def test_a_peer_that_is_not_installed_is_never_started(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(install, "ensure", lambda kinds: {"node": "no network"})
    stage.turns = {"punctual": turn("punctual")}

    assert run(stage, tmp_path, "--only", "punctual", "bullmq", "--rounds", "1") == 2
    assert stage.order == ["punctual"]
    assert stored(tmp_path)["could_not_run"] == ["bullmq: no network"]


def test_installing_runs_nothing(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted: list[str] = []

    def ensure(kinds: Iterable[str]) -> dict[str, str]:
        wanted.extend(kinds)
        return {}

    monkeypatch.setattr(install, "ensure", ensure)

    assert run(stage, tmp_path, "--install") == 0
    assert {"python", "node"} <= set(wanted)
    assert not stage.order
    assert not list(tmp_path.iterdir())


def test_a_failed_install_could_not_run(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(install, "ensure", lambda kinds: {"node": "no network"})

    assert run(stage, tmp_path, "--install") == 2


def test_a_steady_load_is_spread_over_its_seconds():
    chosen = peers.options(["steady", "--rate", "500", "--seconds", "10"])

    assert peers.load_of("bullmq", chosen) == Load(5000, 2.0)


def test_beat_gets_fewer_entries_than_the_others_get_webhooks():
    chosen = peers.options(["burst", "--count", "5000", "--beat-entries", "300"])

    assert peers.load_of("punctual", chosen) == Load(5000)
    assert peers.load_of("django-celery-beat", chosen) == Load(300)


def test_the_peers_may_get_fewer_webhooks():
    chosen = peers.options(["throughput", "--count", "5000", "--peer-count", "700"])

    assert peers.load_of("punctual", chosen) == Load(5000, timed=False)
    assert peers.load_of("celery", chosen) == Load(700, timed=False)


def test_due_times_are_not_judged_in_throughput():
    chosen = peers.options(["throughput"])

    assert not peers.load_of("punctual", chosen).timed
    assert chosen.names == ["punctual", "raw", "celery"]


def test_every_contender_takes_part_in_some_scenario():
    assert {name for names in SCENARIOS.values() for name in names} == set(CONTENDERS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--only", "nobody"],
        ["--rounds", "0"],
        ["--count", "x"],
        ["steady", "--only", "celery"],
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        peers.options(arguments)

    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err
