"""Moments that web processes store are the database's, whatever their own clock says."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import SynchronousOnlyOperation

from shared import database_clock
from shared.database_clock import elapsed
from shared.instants import parse_instant

MOMENT = parse_instant("2026-11-30T12:00:00Z")


class Clocks:
    """A database and a clock of the host that a test sets."""

    def __init__(self) -> None:
        self.database: datetime = MOMENT
        self.elapsed = 100.0
        self.asked = 0

    def rows(self, name: str, *_: Any) -> list[tuple[datetime]]:
        assert name == "leases/database_time"
        self.asked += 1
        return [(self.database,)]


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(database_clock, "rows", made.rows)
    monkeypatch.setattr(database_clock, "elapsed", lambda: made.elapsed)
    monkeypatch.setattr(database_clock, "_measured", None)
    monkeypatch.setattr(database_clock, "KEPT_SECONDS", 5.0)
    return made


def test_it_counts_on_from_what_the_database_said(clocks: Clocks):
    database_clock.now()
    clocks.elapsed += 3.5
    clocks.database += timedelta(hours=1)

    assert database_clock.now() == MOMENT + timedelta(seconds=3.5)
    assert clocks.asked == 1


def test_it_asks_again_when_the_answer_is_old(clocks: Clocks):
    database_clock.now()
    clocks.elapsed += 5.0
    clocks.database += timedelta(hours=1)

    assert database_clock.now() == MOMENT + timedelta(hours=1)
    assert clocks.asked == 2


def test_it_follows_another_database_that_is_behind(clocks: Clocks):
    database_clock.now()
    clocks.elapsed += 5.0
    clocks.database -= timedelta(hours=1)

    assert database_clock.now() == MOMENT - timedelta(hours=1)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="Linux has this clock")
def test_the_time_in_which_the_host_sleeps_counts(monkeypatch: pytest.MonkeyPatch):
    moments = {time.CLOCK_BOOTTIME: 90_000.0, time.CLOCK_MONOTONIC: 50.0}
    monkeypatch.setattr(time, "clock_gettime", moments.__getitem__)

    assert elapsed() == 90_000.0


def test_an_event_loop_is_refused_also_where_the_answer_is_new(clocks: Clocks):
    database_clock.now()

    async def ask() -> datetime:
        return database_clock.now()

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(ask())
    assert clocks.asked == 1
