"""Moments that web processes store are the database's, whatever their own clock says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from shared import database_clock
from shared.instants import parse_instant

MOMENT = parse_instant("2026-11-30T12:00:00Z")


class Clocks:
    """A database and a monotonic clock that a test sets."""

    def __init__(self) -> None:
        self.database: datetime = MOMENT
        self.monotonic = 100.0
        self.asked = 0

    def rows(self, name: str, *_: Any) -> list[tuple[datetime]]:
        assert name == "leases/database_time"
        self.asked += 1
        return [(self.database,)]


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(database_clock, "rows", made.rows)
    monkeypatch.setattr(database_clock, "monotonic", lambda: made.monotonic)
    monkeypatch.setattr(database_clock, "_measured", None)
    monkeypatch.setattr(database_clock, "KEPT_SECONDS", 5.0)
    return made


def test_it_counts_on_from_what_the_database_said(clocks: Clocks):
    database_clock.now()
    clocks.monotonic += 3.5
    clocks.database += timedelta(hours=1)

    assert database_clock.now() == MOMENT + timedelta(seconds=3.5)
    assert clocks.asked == 1


def test_it_asks_again_when_the_answer_is_old(clocks: Clocks):
    database_clock.now()
    clocks.monotonic += 5.0
    clocks.database += timedelta(hours=1)

    assert database_clock.now() == MOMENT + timedelta(hours=1)
    assert clocks.asked == 2
