from __future__ import annotations

from datetime import UTC, datetime

import pytest

from executions.loop import clocks
from executions.loop.clocks import ClockOffset, database_now, from_epoch


class Measurements(ClockOffset):
    """An offset whose measurements are given."""

    def __init__(self, *bounds: tuple[float, float]) -> None:
        super().__init__(interval_seconds=-1.0)
        self.given = list(bounds)

    def _measure(self) -> tuple[float, float]:  # type: ignore[override]  # a method here
        return self.given.pop(0)


@pytest.mark.moving_clock
@pytest.mark.django_db
def test_the_offset_of_servers_on_one_machine_is_between_its_bounds():
    offset = ClockOffset()

    assert -0.2 < offset.at_least() <= 0.0 <= offset.at_most() < 0.2


@pytest.mark.django_db
def test_the_offset_is_measured_again_only_when_it_is_old(monkeypatch: pytest.MonkeyPatch):
    offset = ClockOffset()
    first = offset.at_most()
    monkeypatch.setattr(ClockOffset, "_measure", lambda self: pytest.fail("measured again"))

    assert offset.at_most() == first
    assert offset.at_least() <= first


def test_the_tightest_of_the_bounds_count():
    offset = Measurements(*[(0.0, 0.010)] * 7, (0.0, 0.002), (0.001, 0.009), (-0.5, 0.5))

    assert offset.at_most() == 0.002
    assert offset.at_least() == 0.001
    assert offset.at_most() == 0.002


@pytest.mark.parametrize("read", [ClockOffset.at_most, ClockOffset.at_least])
@pytest.mark.parametrize("by", [60.0, -60.0])
@pytest.mark.logs("clock.set")
def test_a_clock_that_was_set_makes_the_old_bounds_void(read, by: float):
    offset = Measurements(*[(0.0, 0.002)] * 8, *[(by - 0.002, by + 0.001)] * 2)
    offset.at_most()

    # Else work would start, or be recorded, a minute early until the old bounds are forgotten.
    assert read(offset) == pytest.approx(by, abs=0.005)


def test_clocks_that_drift_apart_never_leave_a_lower_bound_above_an_upper_one():
    offset = Measurements(*[(0.0, 0.002)] * 8, *[(0.005, 0.009)] * 2)
    offset.at_most()

    assert offset.at_least() == 0.002


def test_what_starts_when_it_is_due_is_never_recorded_as_early_whoever_measured():
    due, true_offset = 1_800_000_000.0, 0.0
    # The scheduler's questions were quick, the recorder's slow.
    scheduler = Measurements(*[(true_offset - 0.0001, true_offset + 0.0001)] * 8)
    recorder = Measurements(*[(true_offset - 0.0015, true_offset + 0.0013)] * 8)
    started = due + scheduler.at_most()

    assert started - recorder.at_least() >= due


@pytest.mark.moving_clock
@pytest.mark.django_db
def test_the_databases_clock_is_aware_and_goes_on_within_a_transaction():
    first = database_now()

    assert first.tzinfo is not None
    assert database_now() > first


def test_a_unix_time_becomes_an_aware_moment():
    assert from_epoch(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert clocks.from_epoch(1.5).microsecond == 500000
