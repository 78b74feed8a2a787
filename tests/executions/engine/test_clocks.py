from __future__ import annotations

from datetime import UTC, datetime

import pytest

from executions.engine import clocks
from executions.engine.clocks import ClockOffset, database_now, from_epoch


class Measurements(ClockOffset):
    """An offset whose measurements are given."""

    def __init__(self, *bounds: tuple[float, float]) -> None:
        super().__init__(interval_seconds=-1.0)
        self.given = list(bounds)

    def _measure(self) -> tuple[float, float]:  # type: ignore[override]  # a method here
        return self.given.pop(0)


@pytest.mark.django_db
def test_the_offset_of_servers_on_one_machine_is_next_to_nothing():
    assert 0.0 <= ClockOffset().seconds() < 0.2


@pytest.mark.django_db
def test_the_offset_is_measured_again_only_when_it_is_old(monkeypatch: pytest.MonkeyPatch):
    offset = ClockOffset()
    first = offset.seconds()
    monkeypatch.setattr(ClockOffset, "_measure", lambda self: pytest.fail("measured again"))

    assert offset.seconds() == first


def test_the_tightest_of_the_bounds_counts():
    offset = Measurements(*[(0.0, 0.010)] * 7, (0.0, 0.002), (0.001, 0.009))

    assert offset.seconds() == 0.002
    assert offset.seconds() == 0.002


def test_a_clock_that_was_set_forward_makes_the_old_bounds_void():
    offset = Measurements(*[(0.0, 0.002)] * 8, (59.998, 60.001))
    assert offset.seconds() == 0.002

    # Else work would start a minute early until the old bounds are forgotten.
    assert offset.seconds() == 60.001


def test_a_clock_that_was_set_back_counts_at_once():
    offset = Measurements(*[(0.0, 0.002)] * 8, (-60.002, -60.0))
    offset.seconds()

    assert offset.seconds() == -60.0


@pytest.mark.django_db
def test_the_databases_clock_is_aware_and_goes_on_within_a_transaction():
    first = database_now()

    assert first.tzinfo is not None
    assert database_now() > first


def test_a_unix_time_becomes_an_aware_moment():
    assert from_epoch(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert clocks.from_epoch(1.5).microsecond == 500000
