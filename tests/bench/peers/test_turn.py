from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.peers import turn as turns
from bench.peers.contender import Contender, CouldNotRunError, Recorded
from bench.peers.figures import TARGET
from bench.peers.plan import Plan
from bench.peers.turn import Load, lead_ms, take

MS = 1_000_000


class FakeTarget:
    """A receiver that is called without a network."""

    url = "http://127.0.0.1:1"
    pid = os.getpid()

    def __init__(self) -> None:
        self.found: list[tuple[int, int]] = []

    def reset(self) -> None:
        self.found = []

    def count(self) -> int:
        return len({number for number, _ in self.found})

    def arrivals(self) -> list[tuple[int, int]]:
        return self.found


class Stand:
    """A clock, a receiver, and what was asked of the contender."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.target = FakeTarget()
        self.plans: list[Plan] = []
        self.started = 0
        self.stopped = 0
        #: How long scheduling takes, call by call; then no time at all.
        self.takes_ms: list[int] = []
        #: How many of the calls of a plan do not arrive.
        self.lost = 0
        #: What is asked for, in order.
        self.asked: list[str] = []
        self.records: Recorded | None = None
        self.ahead_seconds = 1.0

    def contender(self) -> Contender:
        stand = self

        class Fake(Contender):
            name = "fake"
            pace = 1000.0
            ahead_seconds = stand.ahead_seconds

            def start(self, scratch: Path) -> None:
                assert scratch.is_dir()
                stand.started += 1

            def schedule(self, plan: Plan) -> None:
                stand.plans.append(plan)
                stand.now_ms += stand.takes_ms.pop(0) if stand.takes_ms else 0

            def release(self) -> None:
                stand.asked.append("released")
                plan = stand.plans[-1]
                stand.target.found = [
                    (number, (plan.due_ms(number) + 2) * MS)
                    for number in range(plan.count - stand.lost)
                ]

            def recorded(self, plan: Plan) -> Recorded | None:
                stand.asked.append("recorded")
                return stand.records

            def stop(self) -> None:
                stand.stopped += 1

            def kinds(self) -> dict[int, str]:
                return {}

            def versions(self) -> dict[str, str]:
                return {}

        return Fake()


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    found = Stand()
    monkeypatch.setattr(turns, "now_ms", lambda: found.now_ms)
    monkeypatch.setattr(turns, "wait", lambda seconds: None)
    monkeypatch.setattr(turns, "_STALL_SECONDS", 0.0)
    return found


def test_a_turn_is_warmed_up_then_measured_then_stopped(stand: Stand):
    found = take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    warm_up, measured = stand.plans
    assert warm_up.count < measured.count == 500
    assert (found.contender, found.received, found.early) == ("fake", 500, 0)
    assert found.delays_ms is not None
    assert found.delays_ms.p50 == 2
    assert (stand.started, stand.stopped) == (1, 1)


def test_a_contender_that_schedules_too_slowly_begins_afresh_with_a_later_time(stand: Stand):
    stand.takes_ms = [0, 60_000, 0, 60_000]

    found = take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert (stand.started, stand.stopped) == (2, 2)
    assert found.scheduling_seconds == 60
    assert stand.plans[-1].at_ms - stand.now_ms >= turns.SPARE_MS


def test_a_contender_that_is_always_too_slow_could_not_run(stand: Stand):
    stand.takes_ms = [0, 60_000, 0, 600_000, 0, 6_000_000]

    with pytest.raises(CouldNotRunError, match="scheduling 500 webhooks took 6000 s"):
        take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert stand.stopped == stand.started == 3


def test_a_contender_that_does_not_warm_up_is_not_measured(stand: Stand):
    stand.lost = 1

    with pytest.raises(CouldNotRunError, match="199 arrived"):
        take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert stand.stopped == 1


def test_due_times_that_are_not_judged_give_no_delays(stand: Stand):
    load = Load(500, timed=False)

    found = take(stand.contender, stand.target, load)  # type: ignore[arg-type]  # a fake

    assert found.delays_ms is None


def test_what_is_recorded_is_asked_for_when_the_calls_have_arrived(stand: Stand):
    stand.records = Recorded(500, 2_000_000 * MS)

    found = take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert stand.asked == ["released", "released", "recorded"]
    assert found.recorded == 500
    assert found.recorded_per_second is not None


def test_processor_time_is_told_by_kind_with_that_of_the_target(stand: Stand):
    found = take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert set(found.cpu_seconds) == {TARGET}


def test_a_contender_that_begins_long_before_gets_as_much_more_time(stand: Stand):
    stand.ahead_seconds = 16.0
    stand.takes_ms = [0, 4000]

    take(stand.contender, stand.target, Load(500))  # type: ignore[arg-type]  # a fake

    assert stand.plans[-1].at_ms - stand.now_ms >= 16_000


def test_the_lead_follows_the_pace_and_grows_with_what_scheduling_took():
    by_pace = lead_ms(10_000, 1000)

    assert by_pace - lead_ms(0, 1000) == 10_000
    assert lead_ms(10_000, 1000, took_ms=1000) == by_pace
    assert lead_ms(10_000, 1000, took_ms=20_000) == by_pace + 30_000
