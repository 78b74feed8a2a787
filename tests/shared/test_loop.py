from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from shared import loop
from shared.loop import Agenda, Stage


class Time:
    """A monotonic clock that stands still until told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    return clock


class Recorded:
    """Stages that note their calls, and errors that they are told to raise."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failing: set[str] = set()
        self.errors = 0

    def stage(self, name: str, wait: float) -> Stage:
        def run_once() -> float:
            self.calls.append(name)
            if name in self.failing:
                raise ConnectionError(name)
            return wait

        return Stage(name, run_once)

    def on_error(self) -> None:
        self.errors += 1

    def take(self) -> list[str]:
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def noted() -> Recorded:
    return Recorded()


def test_an_urgent_stage_waits_for_one_other_at_most(clock: Time, noted: Recorded):
    def takes_long(name: str) -> Stage:
        stage = noted.stage(name, 1.0)
        run_once = stage.run_once

        def run_slowly() -> float:
            clock.now += 2.0
            return run_once()

        stage.run_once = run_slowly
        return stage

    urgent = noted.stage("urgent", 2.0)
    urgent.urgent = True
    agenda = Agenda([takes_long("a"), urgent, takes_long("b"), takes_long("c")], noted.on_error)

    agenda.run_due()

    assert noted.take() == ["a", "urgent", "b", "urgent", "c", "urgent"]


def test_stages_run_in_order_when_they_are_due(clock: Time, noted: Recorded):
    agenda = Agenda([noted.stage("a", 1.0), noted.stage("b", 3.0)], noted.on_error)

    assert agenda.run_due() == 1.0
    assert noted.take() == ["a", "b"]
    assert agenda.run_due() == 1.0
    assert noted.take() == []

    clock.now += 1.0
    agenda.run_due()
    assert noted.take() == ["a"]
    clock.now += 2.0
    agenda.run_due()
    assert noted.take() == ["a", "b"]


def test_a_stage_that_wants_to_go_on_does_not_keep_the_others_waiting(clock: Time, noted: Recorded):
    agenda = Agenda([noted.stage("busy", 0.0), noted.stage("b", 0.0)], noted.on_error)

    assert agenda.run_due() == 0.0
    agenda.run_due()

    assert noted.take() == ["busy", "b", "busy", "b"]


def test_a_hurried_stage_runs_at_once(clock: Time, noted: Recorded):
    agenda = Agenda([noted.stage("a", 5.0), noted.stage("b", 5.0)], noted.on_error)
    agenda.run_due()
    noted.take()

    agenda.hurry("b")
    agenda.run_due()

    assert noted.take() == ["b"]


def test_a_stage_that_is_hurried_patiently_runs_no_later_than_it_would(
    clock: Time, noted: Recorded
):
    agenda = Agenda([noted.stage("a", 0.2), noted.stage("b", 5.0)], noted.on_error)
    agenda.run_due()
    noted.take()

    agenda.hurry("a", "b", within=0.5)
    assert agenda.run_due() == pytest.approx(0.2)
    clock.now += 0.5
    agenda.run_due()

    assert noted.take() == ["a", "b"]


def test_an_early_stage_hurries_a_later_one_in_the_same_pass(clock: Time, noted: Recorded):
    def hurry() -> float:
        agenda.hurry("later")
        return 5.0

    later = noted.stage("later", 5.0)
    agenda = Agenda([Stage("early", hurry), later], noted.on_error)
    agenda.run_due()
    noted.take()

    clock.now += 4.0
    agenda.hurry("early")
    agenda.run_due()

    assert noted.take() == ["later"]


@pytest.mark.logs("stage.failed", stage="a", failures=1)
def test_a_failing_stage_leaves_the_others_alone(clock: Time, noted: Recorded):
    noted.failing = {"a"}
    agenda = Agenda([noted.stage("a", 1.0), noted.stage("b", 1.0)], noted.on_error)

    agenda.run_due()

    assert noted.take() == ["a", "b"]
    assert noted.errors == 1


def test_a_failing_stage_backs_off_up_to_a_bound(clock: Time, noted: Recorded):
    noted.failing = {"a"}
    agenda = Agenda([noted.stage("a", 1.0)], noted.on_error)

    waits = []
    for _ in range(8):
        waits.append(round(agenda.run_due(), 3))
        clock.now += waits[-1]

    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_a_failing_stage_is_not_hurried_out_of_its_backoff(clock: Time, noted: Recorded):
    noted.failing = {"a"}
    agenda = Agenda([noted.stage("a", 1.0)], noted.on_error)
    agenda.run_due()
    noted.take()

    agenda.hurry("a")
    agenda.run_due()

    assert noted.take() == []


def test_a_stage_that_works_again_starts_its_backoff_anew(clock: Time, noted: Recorded):
    noted.failing = {"a"}
    agenda = Agenda([noted.stage("a", 1.0)], noted.on_error)
    for _ in range(4):
        clock.now += agenda.run_due()
    noted.failing = set()

    assert agenda.run_due() == 1.0

    noted.failing = {"a"}
    clock.now += 1.0
    assert agenda.run_due() == pytest.approx(0.2)


def test_what_asks_to_end_the_process_is_no_fault(noted: Recorded):
    def stop() -> float:
        raise SystemExit(0)

    agenda = Agenda([Stage("stop", stop)], noted.on_error)

    with pytest.raises(SystemExit):
        agenda.run_due()
    assert not noted.errors


def test_any_exception_of_a_stage_is_a_fault(clock: Time, noted: Recorded):
    calls: list[Callable[[], float]] = []
    agenda = Agenda([Stage("a", lambda: calls.pop()())], noted.on_error)

    # An IndexError is a fault like any other: logged, and tried again.
    assert agenda.run_due() > 0
    assert noted.errors == 1
