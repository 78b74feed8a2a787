from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest

from tasks.schedules import zones
from tasks.schedules.zones import EPOCH, LAST_SECOND, UnknownZone, find_zone


def second(year: int, month: int, day: int, hour: int = 0) -> int:
    return (datetime(year, month, day, hour, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)


@pytest.mark.parametrize(
    "name",
    [
        *["", " ", "../..", "/etc/passwd", "/etc/..", "Europe", "Europe/", "UTC\0", "\0"],
        *["x" * 5000, "Mars/Olympus", "posixrules", "Factory", "\ud800", "UTC+2", "\uff35TC"],
        *[None, 5, 2.5, [], {}, b"UTC", True],
    ],
)
def test_odd_names_are_unknown_zones(name):
    with pytest.raises(UnknownZone):
        find_zone(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        (" Asia/Tokyo ", "Asia/Tokyo"),
        ("utc", "UTC"),
        ("Europe/Berlinn", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("Amerika/New_York", "America/New_York"),
        ("Kolkatta", "Asia/Kolkata"),
    ],
)
def test_a_near_miss_is_answered_with_the_right_name(name, meant):
    with pytest.raises(UnknownZone, match=f"Did you mean '{meant}'"):
        find_zone(name)


def test_the_same_name_gives_the_same_zone():
    assert find_zone("Europe/Berlin") is find_zone("Europe/Berlin")


def test_zone_data_comes_from_the_package_and_not_from_the_system():
    assert zoneinfo.TZPATH == ()
    # The package knows that Vancouver stays at UTC-7; older system copies do not.
    assert find_zone("America/Vancouver").segment_at(second(2026, 12, 1)).offset == -7 * 3600


def test_a_segment_knows_its_neighbours():
    segment = find_zone("America/New_York").segment_at(second(2027, 7, 1))

    assert segment == (second(2027, 3, 14, 7), second(2027, 11, 7, 6), -14400, -18000, -18000)


def test_a_zone_without_changes_is_one_segment():
    assert find_zone("UTC").segment_at(5) == (0, LAST_SECOND + 1, 0, 0, 0)


def test_the_day_that_apia_left_out_is_one_gap_of_a_day():
    segment = find_zone("Pacific/Apia").segment_at(second(2011, 12, 30, 10))

    assert segment.start == second(2011, 12, 30, 10)
    assert segment.offset - segment.before == 86_400


def distinct_zones() -> list[str]:
    """Return names of zones with different rules, one per set of changes."""
    pure = import_module("zoneinfo._zoneinfo")
    seen: dict[object, str] = {}
    for name in sorted(zones._names()):
        info = pure.ZoneInfo(name)
        seen.setdefault((tuple(info._trans_utc), repr(info._ttinfos), repr(info._tz_after)), name)
    return sorted(seen.values())


def file_changes(name: str, until: int) -> list[tuple[int, int]]:
    """Return the changes of offset that the zone's file lists, read by the pure Python zoneinfo."""
    info = import_module("zoneinfo._zoneinfo").ZoneInfo(name)
    offset = (datetime.fromtimestamp(0, info).utcoffset() or timedelta()) // timedelta(seconds=1)
    changes = []
    for moment, kind in zip(info._trans_utc, info._ttinfos, strict=True):
        following = kind.utcoff // timedelta(seconds=1)
        if 0 < moment < until and following != offset:
            changes.append((moment, following))
        if moment > 0:
            offset = following
    return changes


def test_every_change_listed_in_the_zone_files_is_found():
    until = second(2038, 1, 1)
    names = distinct_zones()
    assert len(names) > 300
    for name in names:
        zone = find_zone(name)
        found = [
            change
            for change in zip(zone._starts, zone._offsets, strict=True)
            if 0 < change[0] < until
        ]
        listed = file_changes(name, until)
        assert [c for c in found if c[0] <= (listed[-1][0] if listed else 0)] == listed, name


def test_a_year_after_the_listed_changes_follows_the_rule_of_the_zone():
    zone = find_zone("Europe/Berlin")

    assert zone.segment_at(second(2100, 3, 28, 1)).start == second(2100, 3, 28, 1)
    assert zone.segment_at(second(2100, 3, 28, 1)).offset == 7200
