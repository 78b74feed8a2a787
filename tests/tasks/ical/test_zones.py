from __future__ import annotations

import pytest

from tasks.ical.lines import read_calendars
from tasks.ical.values import NotRead
from tasks.ical.zones import FileZone, FileZones, named_zone
from tests.tasks.ical.files import calendar, zone

SUMMER, WINTER = 1_784_095_200, 1_768_500_000


def zones(*described: str, default: str = "") -> FileZones:
    (found,) = read_calendars(calendar(head="\n".join(described) or "X-A:b"))
    return FileZones(found.parts, (2021, 2036), default)


def hours(found) -> tuple[float, float]:
    return found.segment_at(WINTER).offset / 3600, found.segment_at(SUMMER).offset / 3600


@pytest.mark.parametrize(
    ("name", "standard", "summer", "expected"),
    [
        ("EST", "-0500", "-0400", (-5, -4)),
        ("MST", "-0700", "-0600", (-7, -6)),
        ("GMT", "+0000", "+0100", (0, 1)),
        ("Europe/Moscow", "+0300", "+0400", (3, 4)),
        ("W. Europe Standard Time", "+0200", "+0300", (2, 3)),
        ("Head office", "+0545", "+0645", (5.75, 6.75)),
        ("/example.com/Asia/Tokyo", "+0100", "+0200", (1, 2)),
    ],
)
def test_the_rules_of_the_file_hold_whatever_its_zone_is_called(name, standard, summer, expected):
    found = zones(zone(name, standard=standard, summer=summer)).find(name)

    assert isinstance(found, FileZone)
    assert hours(found) == expected


@pytest.mark.parametrize("name", ["Europe/Berlin", "/mozilla.org/20050126_1/Europe/Berlin"])
def test_a_name_of_the_database_with_the_same_offsets_is_the_databases_zone(name):
    # The file ends summer time on another day.
    described = zone(name).replace("BYMONTH=10;BYDAY=-1SU", "BYMONTH=9;BYDAY=1SU")

    found = zones(described).find(name)

    assert (found.name, isinstance(found, FileZone)) == ("Europe/Berlin", False)


def test_a_zone_changes_when_the_file_says():
    found = zones(zone("Ours")).find("Ours")

    changes = found.changes_between(1_767_225_600, 1_798_761_600)

    assert [(at, offset) for at, offset in changes[1:]] == [
        (1_774_746_000, 7200),
        (1_792_890_000, 3600),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("/freeassociation.sourceforge.net/America/Argentina/Salta", "America/Argentina/Salta"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("pacific standard time", "America/Los_Angeles"),
        ("UTC", "UTC"),
        ("GMT", "GMT"),
        ("Nowhere", None),
        ("../../etc/passwd", None),
        ("", None),
    ],
)
def test_names_without_a_description_are_looked_up(name, expected):
    found = named_zone(name)

    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ("BEGIN:VTIMEZONE\nTZID:X\nEND:VTIMEZONE", "it has no STANDARD and no DAYLIGHT"),
        (zone("X").replace("TZOFFSETTO:+0200", "TZOFFSETTO:soon"), "is no offset: 'soon'"),
        (zone("X").replace("TZOFFSETFROM:+0100\n", ""), "has no TZOFFSETFROM"),
        (zone("X").replace("DTSTART:19700329T020000", "A:b"), "has no DTSTART"),
        (
            zone("X").replace("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "FREQ=SECONDLY"),
            "changes its clocks too often",
        ),
        (zone("X").replace("END:DAYLIGHT\n", ""), "it has no END:DAYLIGHT"),
    ],
)
def test_a_description_that_cannot_be_read_is_named_unless_the_database_knows_the_zone(
    described, reason
):
    with pytest.raises(NotRead) as refused:
        zones(described).find("X")

    assert "its time zone 'X' (line 2) cannot be read" in str(refused.value)
    assert reason in str(refused.value)
    known = described.replace("TZID:X", "TZID:Europe/Berlin")
    assert zones(known).find("Europe/Berlin").name == "Europe/Berlin"


def test_a_zone_may_list_its_changes_or_end_its_rules():
    listed = zone("L").replace("RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "RDATE:20260329T020000")
    ended = zone("E").replace("BYMONTH=3;BYDAY=-1SU", "BYMONTH=3;BYDAY=-1SU;UNTIL=20200329T010000Z")

    assert hours(zones(listed).find("L")) == (1, 2)
    assert hours(zones(ended).find("E")) == (1, 1)


def test_floating_times_have_the_zone_that_the_file_names_or_utc():
    assert zones(default="Asia/Tokyo").find("").name == "Asia/Tokyo"
    assert zones(zone("Ours"), default="Ours").find("").name == "Ours"
    without = zones()
    assert (without.find("").name, without.assumed_utc) == ("UTC", True)
