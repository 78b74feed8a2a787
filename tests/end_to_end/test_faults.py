"""The short selection of the faults that `make chaos` injects, each judged by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.chaos import invariants
from bench.chaos.experiment import Experiment, run
from bench.chaos.site import Site, pair
from bench.chaos.table import EXPERIMENTS
from tests.support.installation import FOREIGN

QUICK = [one for one in EXPERIMENTS if one.quick]
#: Requests a second: other tests run beside.
_RATE = 15.0


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as environment:
        for name in FOREIGN:
            environment.delenv(name, raising=False)
        with pair() as made:
            yield made


def test_the_selection_has_a_process_and_each_kind_of_server():
    assert {one.id.split("-")[0] for one in QUICK} == {"worker", "broker", "database"}


@pytest.mark.parametrize(
    "experiment",
    [pytest.param(one, id=one.id, marks=pytest.mark.slow) for one in QUICK],
)
def test_a_fault_loses_nothing_and_doubles_only_what_was_in_flight(
    site: Site, experiment: Experiment
):
    result = run(replace(experiment, rate=_RATE), site)

    # How late anything began is for a quiet machine to say: `make chaos` asks for that, too.
    verdict = result.outcome.verdict
    assert verdict.passed, (dict(verdict.labels), verdict.examples)
    assert verdict.expected > _RATE * experiment.seconds / 2
    assert verdict.duplicates <= verdict.in_flight_at_faults
    assert invariants.broken(site) == []
    assert [line for line in result.problems if "workflow" in line] == []
