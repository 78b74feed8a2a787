from __future__ import annotations

import pytest

from bench.chaos import invariants
from bench.chaos.experiment import judge
from bench.chaos.site import Site
from bench.installation import Installation
from operations.proof.matcher import Verdict
from tests.support.experiments import experiment, outcome

SITE = Site(Installation("http://127.0.0.1:1", "secret", {"DATA_DIR": "/nowhere"}))


@pytest.fixture(autouse=True)
def a_sound_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "broken", lambda site: [])


def test_a_run_that_keeps_every_promise_has_no_problems():
    verdict = Verdict(expected=1, run=1, start_delays_ms=[5.0])

    assert judge(experiment(), SITE, outcome(verdict)).passed


@pytest.mark.parametrize("label", ["lost", "skipped", "dup", "phantom", "early", "extra", "wrong"])
def test_each_broken_promise_is_a_problem(label: str):
    verdict = Verdict()
    verdict.note(label, "an example")

    result = judge(experiment(), SITE, outcome(verdict))

    assert not result.passed
    assert label in result.problems[0]


def test_more_duplicates_than_were_in_flight_are_a_problem():
    verdict = Verdict(in_flight_at_faults=1)
    for _ in range(2):
        verdict.note("dup_attributed", "an example")

    assert "2 duplicates, 1 were in flight" in judge(experiment(), SITE, outcome(verdict)).problems


def test_a_start_beyond_the_bound_is_a_problem():
    verdict = Verdict(start_delays_ms=[3000.0])

    found = judge(experiment(latest_start_seconds=2.0), SITE, outcome(verdict))

    assert found.problems == ["latest start 3.0 s (bound 2 s)"]


def test_a_broken_invariant_and_the_experiments_own_promise_are_problems(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(invariants, "broken", lambda site: ["I1"])

    found = judge(experiment(check=lambda site, outcome: ["too slow"]), SITE, outcome(Verdict()))

    assert found.problems == ["I1", "too slow"]
    assert found.as_json()["passed"] is False
