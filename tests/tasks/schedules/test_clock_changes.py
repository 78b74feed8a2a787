"""The next changes of the clocks, and what each choice makes of a run that falls into one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.schedules.clock_changes import clock_changes, present_clock_changes

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def changes(cron: str, zone: str = "Europe/Berlin", **choices: str) -> list:
    return clock_changes({"cron_expression": cron, "timezone": zone, **choices}, now=NOW)


@pytest.mark.parametrize(
    ("cron", "choices", "skipped", "repeated"),
    [
        ("30 2 * * *", {}, "moved", "first"),
        ("30 2 * * *", {"dst_gap": "skip", "dst_overlap": "both"}, "left_out", "both"),
        ("30 2 * * *", {"dst_gap": "before", "dst_overlap": "second"}, "moved", "second"),
        ("0 9 * * *", {"dst_gap": "skip"}, "none", "none"),
        ("30 2 * * 1", {}, "none", "none"),
        ("*/15 * * * *", {"dst_gap": "skip"}, "elapsed", "elapsed"),
    ],
)
def test_the_effect_follows_the_choices(cron, choices, skipped, repeated):
    found = changes(cron, **choices)

    assert [(one.kind, one.effect) for one in found] == [
        ("skipped", skipped),
        ("repeated", repeated),
    ]


def test_a_change_is_told_with_its_day_and_the_start_that_it_moves():
    skipped, repeated = changes("30 2 * * *", dst_overlap="both")

    assert skipped.text == (
        "Sun 2027-03-28: the clocks skip 02:00 to 03:00. "
        "The run of that time starts at 03:00 CEST instead."
    )
    assert repeated.text == (
        "Sun 2027-10-31: 02:00 to 03:00 occurs twice. "
        "It runs both times, at 02:30 CEST and 02:30 CET."
    )


def test_the_earlier_change_comes_first_in_the_south():
    assert [one.kind for one in changes("0 9 * * *", "Australia/Lord_Howe")] == [
        "repeated",
        "skipped",
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron_expression": "30 2 * * *", "timezone": "Asia/Tokyo"},
        {"every": "PT15M", "timezone": "Europe/Berlin"},
        {"run_at": "2027-03-28T00:30:00Z", "timezone": "Europe/Berlin"},
    ],
)
def test_what_no_change_touches_has_none(schedule):
    assert clock_changes(schedule, now=NOW) == []


def test_the_api_has_instants():
    [skipped, _] = present_clock_changes(changes("30 2 * * *"))

    assert skipped["at"] == "2027-03-28T01:00:00.000Z"
    assert skipped["runs"] == ["2027-03-28T01:00:00.000Z"]
