"""What costs beside another checkout come to: differences of pairs with their interval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import costs_beside
from bench.costs_beside import Difference, differences, figures_of, lines_of, main, run_costs
from bench.installation import CHECKOUT, InstallationError
from bench.peers.figures import TARGET


def result(worker: float, postgresql: float, commit: str = "abc") -> dict[str, Any]:
    microseconds = {"worker": worker, "postgresql": postgresql, TARGET: 50.0}
    return {
        "versions": {"commit": commit},
        "stages": {
            "prepare": {"microseconds": {"worker": 2.0}},
            "run": {"microseconds": microseconds},
        },
    }


def test_a_stage_and_a_kind_are_summed_and_the_receiver_is_no_part_of_them():
    assert figures_of(result(100.0, 80.0)) == {
        "prepare": 2.0,
        "prepare worker": 2.0,
        "run": 180.0,
        "run worker": 100.0,
        "run postgresql": 80.0,
        "all": 182.0,
        "all worker": 102.0,
        "all postgresql": 80.0,
    }


def test_the_interval_is_that_of_the_differences_of_pairs():
    other = [{"all": 100.0}, {"all": 200.0}, {"all": 300.0}]
    here = [{"all": 90.0}, {"all": 188.0}, {"all": 286.0}]

    (found,) = differences(other, here)

    # Differences -10, -12, -14: deviation 2, t of two degrees of freedom 4.303.
    assert found == Difference("all", 200.0, 188.0, -12.0, 4.97)


def test_what_one_side_alone_has_is_nothing_on_the_other():
    found = differences([{"all": 1.0}] * 3, [{"all": 1.0, "run web": 2.0}] * 3)

    assert [(one.name, one.other, one.here) for one in found] == [
        ("all", 1.0, 1.0),
        ("run web", 0.0, 2.0),
    ]
    assert lines_of(found)[1].split() == ["run", "web", "0.0", "2.0", "µs", "+2.00", "±", "0.00"]


def test_pairs_are_run_in_turns_and_told_with_their_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    def run(checkout: Path, count: int, tenants: int, environment: None) -> dict[str, Any]:
        other = checkout != CHECKOUT
        asked.append(f"{'other' if other else 'here'} {count} of {tenants}")
        return result(100.0 if other else 90.0, 80.0, "before" if other else "after")

    monkeypatch.setattr(costs_beside, "run_costs", run)
    arguments = ["--other", str(tmp_path), "--pairs", "3", "--count", "7"]

    assert main([*arguments, "--results", str(tmp_path)]) == 0

    assert asked == [
        f"{name} 7 of 1" for name in ("other", "here", "here", "other", "other", "here")
    ]
    (stored,) = tmp_path.glob("*-costs-beside.json")
    told = json.loads(stored.read_text(encoding="utf-8"))
    assert told["commits"] == {"other": "before", "here": "after"}
    assert told["differences"][0] == {
        "name": "all",
        "other": 182.0,
        "here": 172.0,
        "more": -10.0,
        "give_or_take": 0.0,
    }


def test_traces_are_recorded_here_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shares: list[str | None] = []

    def run(*asked: Any) -> dict[str, Any]:
        shares.append(asked[-1] and asked[-1]["OTEL_TRACES_SAMPLER_ARG"])
        return result(100.0, 80.0)

    monkeypatch.setattr(costs_beside, "run_costs", run)
    arguments = ["--other", ".", "--pairs", "3", "--traces", "0.01", "--results", str(tmp_path)]

    assert main(arguments) == 0

    assert shares == [None, "0.01", "0.01", None, None, "0.01"]


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[[str], Path]:
    """Return a checkout whose Python does what a shell script says."""

    def make(script: str) -> Path:
        program = tmp_path / ".venv" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return tmp_path

    return make


def test_a_run_is_asked_for_its_result(checkout: Callable[[str], Path]):
    # -m bench.costs --count 7 --results DIRECTORY
    place = checkout('printf \'{"module": "%s", "count": %s}\' "$2" "$4" > "$6/x-costs.json"')

    assert run_costs(place, 7) == {"module": "bench.costs", "count": 7}


@pytest.mark.parametrize("script", ["echo no room >&2; exit 2", "echo no room >&2"])
def test_a_run_without_a_result_is_no_figure(checkout: Callable[[str], Path], script: str):
    with pytest.raises(InstallationError, match="no room"):
        run_costs(checkout(script), 7)


def test_a_run_gets_the_variables_that_are_given(checkout: Callable[[str], Path]):
    place = checkout('printf \'{"share": "%s"}\' "$SHARE" > "$6/x-costs.json"')

    assert run_costs(place, 7, environment={"SHARE": "half"}) == {"share": "half"}


def test_a_run_of_many_tenants_is_asked_for_them(checkout: Callable[[str], Path]):
    # -m bench.costs --count 7 --results DIRECTORY --tenants 100
    place = checkout('printf \'{"option": "%s", "of": %s}\' "$7" "$8" > "$6/x-costs-tenants.json"')

    assert run_costs(place, 7, 100) == {"option": "--tenants", "of": 100}


def test_another_checkout_without_tenants_is_refused_before_the_first_pair(
    checkout: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
):
    place = checkout("echo '--count COUNT'")
    monkeypatch.setattr(costs_beside, "run_costs", lambda *_: pytest.fail("a pair was run"))

    with pytest.raises(InstallationError, match="has no --tenants"):
        main(["--other", str(place), "--tenants", "10"])


def test_another_checkout_that_knows_tenants_is_accepted(checkout: Callable[[str], Path]):
    costs_beside.require_tenants(checkout("echo '--tenants TENANTS'"))  # raises nothing


def test_a_number_of_pairs_without_an_interval_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--other", ".", "--pairs", "1"])

    assert "--pairs" in capsys.readouterr().err
