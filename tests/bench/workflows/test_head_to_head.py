from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.peers import install
from bench.peers.contender import CouldNotRunError, Killable
from bench.workflows import head_to_head
from bench.workflows.__main__ import main
from bench.workflows.peers.contenders import CONTENDERS
from bench.workflows.peers.figures import Counts, Kill, Speed
from bench.workflows.peers.turn import Load
from operations.proof.percentiles import distribution

WHOLE = Counts(100, 100, 0, 0)


class Stage:
    """Turns without contenders: what each gets, and what comes of it."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.loads: list[Load] = []
        self.gaps: dict[str, float] = {}

    def take(self, make: type[Killable], receiver: object, load: Load) -> Iterator[Speed | Kill]:
        self.order.append(make.name)
        self.loads.append(load)
        if make.name not in self.gaps:
            raise CouldNotRunError("it is not there")
        gaps = distribution([self.gaps[make.name]])
        yield Speed(make.name, gaps, WHOLE, 1000 / gaps.p50, 1.0, WHOLE)
        if load.killed:
            yield Kill(make.name, 40, 1.0, 2.0, WHOLE)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    found = Stage()
    monkeypatch.setattr(head_to_head, "take", found.take)
    monkeypatch.setattr(install, "ensure", lambda kinds: {})
    for one in CONTENDERS.values():
        monkeypatch.setattr(one, "versions", lambda self: {"it": "1.0"})
    return found


def stored(results: Path) -> dict[str, Any]:
    [path] = results.glob("*-workflows-peers.json")
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def run(results: Path, *arguments: str) -> int:
    return main(["peers", *arguments, "--results", str(results)])


def test_all_take_turns_and_the_first_round_has_the_kill(stage: Stage, tmp_path: Path):
    stage.gaps = {"punctual": 1.0, "dbos": 2.0, "celery-canvas": 3.0, "bullmq-flows": 4.0}

    assert run(tmp_path, "--rounds", "2", "--killed", "7") == 0

    assert stage.order[:5] == [*CONTENDERS, "dbos"]
    assert [load.killed for load in stage.loads] == [7] * 4 + [0] * 4
    result = stored(tmp_path)
    assert list(result["medians"]) == list(CONTENDERS)
    assert result["medians"]["dbos"]["step_to_next_ms"]["p99"] == 2.0
    assert len(result["turns"]) == 8
    assert len(result["kills"]) == 4


def test_a_target_that_is_missed_is_named(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stage.gaps = {"punctual": 5.0, "bullmq-flows": 4.0}

    code = run(tmp_path, "--rounds", "1", "--only", "punctual", "bullmq-flows")

    assert code == 1
    assert stored(tmp_path)["targets_missed"] == [
        "target missed: step to next p99 5.00 ms, bullmq-flows 4.00 ms"
    ]
    assert "FAILED" in capsys.readouterr().out


def test_a_contender_that_does_not_run_is_named_and_the_others_are_measured(
    stage: Stage, tmp_path: Path
):
    stage.gaps = {"punctual": 1.0}

    assert run(tmp_path, "--rounds", "1", "--only", "punctual", "dbos") == 2

    assert stored(tmp_path)["could_not_run"] == ["dbos: it is not there"]
    assert list(stored(tmp_path)["medians"]) == ["punctual"]


def test_a_peer_that_is_not_installed_is_never_started(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stage.gaps = {"punctual": 1.0, "dbos": 2.0}
    monkeypatch.setattr(install, "ensure", lambda kinds: {install.PYTHON_KIND: "no registry"})

    assert run(tmp_path, "--rounds", "1", "--only", "punctual", "dbos") == 2

    assert stage.order == ["punctual"]
    assert stored(tmp_path)["could_not_run"] == ["dbos: no registry"]


def test_without_kills_nothing_is_killed(stage: Stage, tmp_path: Path):
    stage.gaps = {"punctual": 1.0}

    assert run(tmp_path, "--kills", "0", "--only", "punctual") == 0

    assert {load.killed for load in stage.loads} == {0}
    assert stored(tmp_path)["kills"] == []
