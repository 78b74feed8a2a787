from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from bench.chaos import __main__ as chaos
from bench.chaos.experiment import Experiment, Result
from bench.chaos.site import CannotRunError, Site
from bench.installation import Installation, InstallationError
from operations.proof.matcher import Verdict
from tests.support.experiments import experiment, outcome

SITE = Site(Installation("http://127.0.0.1:1", "secret", {"DATA_DIR": "/nowhere"}))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run what its name says: ``kept``, ``broken`` or ``away``; note each stand that is made."""
    stands: list[str] = []

    @contextmanager
    def stand() -> Iterator[Site]:
        stands.append("a stand")
        yield SITE

    def run(one: Experiment, site: Site) -> Result:
        if one.id == "away":
            raise ExceptionGroup("tasks", [InstallationError("worker did not come back")])
        return Result(one, outcome(Verdict()), ["late"] if one.id == "broken" else [])

    table = tuple(experiment(id=name, stand=stand) for name in ("kept", "away", "broken", "last"))
    monkeypatch.setattr(chaos, "EXPERIMENTS", table)
    monkeypatch.setattr(chaos, "run", run)
    return stands


def call(results: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = chaos.main([*arguments, "--results", str(results)])
    [stored] = results.glob("*-chaos.json")
    return code, json.loads(stored.read_text())


def test_what_kept_every_promise_passes(tmp_path: Path, opened: list[str]):
    code, stored = call(tmp_path, "kept", "last")

    assert (code, stored["passed"], len(opened)) == (0, True, 1)
    assert [one["id"] for one in stored["experiments"]] == ["kept", "last"]


def test_a_broken_promise_fails(tmp_path: Path, opened: list[str]):
    assert call(tmp_path, "broken", "last")[0] == 1


def test_an_experiment_that_breaks_off_fails_and_the_rest_gets_a_new_stand(
    tmp_path: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
):
    code, stored = call(tmp_path, "kept", "away", "last")

    assert (code, stored["passed"], len(opened)) == (1, False, 2)
    assert {one["id"]: one["passed"] for one in stored["experiments"]} == {
        "kept": True,
        "last": True,
        "away": False,
    }
    assert "InstallationError: worker did not come back" in capsys.readouterr().out


def test_a_stand_that_cannot_be_made_is_neither_kept_nor_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    @contextmanager
    def nowhere() -> Iterator[Site]:
        raise CannotRunError("hosts need root")
        yield SITE  # type: ignore[unreachable]  # what makes it a generator

    monkeypatch.setattr(chaos, "EXPERIMENTS", (experiment(stand=nowhere),))

    code, stored = call(tmp_path)

    assert (code, stored["passed"]) == (chaos.COULD_NOT_RUN, False)


def test_a_name_that_there_is_not_is_refused(opened: list[str]):
    with pytest.raises(SystemExit, match="no such fault: nonsense"):
        chaos.main(["nonsense"])


def test_two_kinds_of_stands_run_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Each lane waits for the other: one behind the other would never get on.
    meeting = get_context("fork").Barrier(2, timeout=30)

    @contextmanager
    def here() -> Iterator[Site]:
        meeting.wait()
        yield SITE

    @contextmanager
    def there() -> Iterator[Site]:
        meeting.wait()
        yield SITE

    table = (experiment(id="a", stand=here), experiment(id="b", stand=there))
    monkeypatch.setattr(chaos, "EXPERIMENTS", table)
    monkeypatch.setattr(chaos, "run", lambda one, site: Result(one, outcome(Verdict()), []))

    code, stored = call(tmp_path)

    assert (code, {one["id"] for one in stored["experiments"]}) == (0, {"a", "b"})
