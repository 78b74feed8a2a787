"""Recorded rules of zones as an older release may have had them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tasks import zone_changes
from tasks.models import ZoneRules
from tasks.schedules.zones import EPOCH, Zone

OLD = "2025.1"
#: The zones that tests name, and some with odd rules: reading all of them takes seconds.
FEW = (
    "Africa/Casablanca",
    "America/New_York",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Pacific/Apia",
    "UTC",
)


@pytest.fixture
def few_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the database of zones have these few."""
    monkeypatch.setattr(zone_changes, "all_names", lambda: FEW)


def second(moment: datetime) -> int:
    """Return the whole seconds since 1970."""
    return (moment - EPOCH) // timedelta(seconds=1)


def record_today(now: datetime) -> None:
    """Record the installed rules of every zone, as the first check does."""
    zone_changes.follow(zone_changes.look(now).unchanged, now)


def pretend(name: str, changes: list[tuple[int, int]], release: str = OLD) -> None:
    """Let the recorded rules of a zone be these: second and offset of each stretch."""
    ZoneRules.objects.filter(name=name).update(release=release, transitions=changes)


def pretend_shifted(name: str, now: datetime, hours: float) -> None:
    """Let the zone's clock of an older release have been ahead by so much from now on."""
    found = Zone(name).changes_between(second(now) - 86_400 * 400, second(now) + 86_400 * 3653)
    shift = round(hours * 3600)
    past = [(start, offset) for start, offset in found if start <= second(now)]
    ahead = [(start, offset + shift) for start, offset in found if start > second(now)]
    pretend(name, [*past, (second(now), past[-1][1] + shift), *ahead])
