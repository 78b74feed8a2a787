from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.exceptions import InvalidInput
from tasks.schedules.spec import ScheduleError, parse
from tests.tasks.schedules.instants import next_at, utc

ANCHOR = utc("2026-11-20 00:00")


def complaints(kind: str, schedule: dict[str, object]) -> list[tuple[str, str]]:
    """Return (field, code) of every complaint about a schedule."""
    with pytest.raises(ScheduleError) as caught:
        parse(kind, schedule, anchor=ANCHOR)
    assert all(error.message for error in caught.value.errors)
    return [
        (error.pointer.removeprefix("#/schedule/"), error.code) for error in caught.value.errors
    ]


@pytest.mark.parametrize(
    ("kind", "schedule", "expected"),
    [
        ("ONE_TIME", {"run_at": "2026-12-31T08:00:00+01:00"}, "once"),
        ("RECURRING", {"cron_expression": "0 8 * * *"}, "cron"),
        ("RECURRING", {"every": "PT5M"}, "interval"),
        ("RECURRING", {"every": "PT5M", "cron_expression": None, "start_at": None}, "interval"),
        ("RECURRING", {"every": "PT5M", "misfire_policy": "skip", "calendars": []}, "interval"),
    ],
)
def test_each_kind_is_made(kind, schedule, expected):
    assert parse(kind, schedule, anchor=ANCHOR).kind == expected


def test_the_zone_is_utc_unless_given():
    assert parse("RECURRING", {"cron_expression": "0 8 * * *"}).zone.name == "UTC"
    assert parse("RECURRING", {"cron_expression": "0 8 * * *", "timezone": None}).zone.name == "UTC"


@pytest.mark.parametrize(
    ("kind", "schedule", "expected"),
    [
        ("ONE_TIME", {}, [("run_at", "required")]),
        ("ONE_TIME", {"run_at": "2026-12-31"}, [("run_at", "datetime_invalid")]),
        ("ONE_TIME", {"run_at": "2026-12-31T08:00:00"}, [("run_at", "datetime_invalid")]),
        ("ONE_TIME", {"run_at": 5}, [("run_at", "datetime_invalid")]),
        ("ONE_TIME", {"run_at": datetime(2026, 1, 1)}, [("run_at", "datetime_invalid")]),  # noqa: DTZ001 - the fault under test
        (
            "ONE_TIME",
            {"run_at": "2026-12-31T08:00:00Z", "every": "PT5M", "end_at": "2026-12-31T08:00:00Z"},
            [("every", "not_allowed"), ("end_at", "not_allowed")],
        ),
        ("RECURRING", {}, [("cron_expression", "required")]),
        ("RECURRING", {"cron_expression": "0 8 * * *", "every": "PT5M"}, [("every", "conflict")]),
        (
            "RECURRING",
            {"every": "PT5M", "run_at": "2026-12-31T08:00:00Z"},
            [("run_at", "not_allowed")],
        ),
        ("RECURRING", {"cron_expression": ""}, [("cron_expression", "cron_invalid")]),
        ("RECURRING", {"cron_expression": "0 0 30 2 *"}, [("cron_expression", "cron_never_fires")]),
        ("RECURRING", {"every": "P1M"}, [("every", "interval_invalid")]),
        ("RECURRING", {"every": 300}, [("every", "interval_invalid")]),
        ("RECURRING", {"every": "PT5M", "timezone": ""}, [("timezone", "timezone_unknown")]),
        ("RECURRING", {"every": "PT5M", "timezone": 5}, [("timezone", "timezone_unknown")]),
        ("RECURRING", {"every": "PT5M", "dst_gap": "later"}, [("dst_gap", "choice_invalid")]),
        ("RECURRING", {"every": "PT5M", "dst_gap": []}, [("dst_gap", "choice_invalid")]),
        ("RECURRING", {"every": "PT5M", "dst_overlap": 1}, [("dst_overlap", "choice_invalid")]),
        (
            "RECURRING",
            {
                "every": "PT5M",
                "start_at": "2026-12-31T00:00:00Z",
                "end_at": "2026-12-30T23:59:59.999Z",
            },
            [("end_at", "end_before_start")],
        ),
        (
            "RECURRING",
            {
                "cron_expression": "61 * * * *",
                "timezone": "Europe",
                "dst_gap": "x",
                "start_at": "now",
            },
            [
                ("timezone", "timezone_unknown"),
                ("dst_gap", "choice_invalid"),
                ("start_at", "datetime_invalid"),
                ("cron_expression", "cron_invalid"),
            ],
        ),
        ("WEEKLY", {}, [("#/type", "choice_invalid")]),
    ],
)
def test_every_fault_is_named_at_once(kind, schedule, expected):
    assert complaints(kind, schedule) == expected


def test_a_schedule_error_is_an_invalid_input():
    with pytest.raises(InvalidInput) as caught:
        parse("RECURRING", {"cron_expression": "0 25 * * *"})

    error = caught.value.errors[0]
    assert error.pointer == "#/schedule/cron_expression"
    assert error.message == "Hour field, position 3: '25' is above 23. Use 0-23."


def test_instants_may_be_text_or_aware_datetimes():
    moment = datetime(2026, 12, 31, 8, tzinfo=UTC)
    for value in (moment, "2026-12-31T08:00:00Z", "2026-12-31T09:00:00+01:00"):
        spec = parse("ONE_TIME", {"run_at": value})
        assert next_at(spec, ANCHOR) == moment


def test_instants_are_rounded_up_to_what_the_api_can_show():
    spec = parse("ONE_TIME", {"run_at": "2026-12-31T08:00:00.0001Z"})

    assert next_at(spec, ANCHOR) == utc("2026-12-31 08:00") + timedelta(milliseconds=1)


def test_a_fixed_rate_without_start_needs_the_creation_time():
    with pytest.raises(TypeError, match="anchor"):
        parse("RECURRING", {"every": "PT5M"})


def test_the_seed_decides_a_hash():
    schedule = {"cron_expression": "H H * * *"}
    times = {next_at(parse("RECURRING", schedule, seed=str(n)), ANCHOR) for n in range(50)}

    assert len(times) > 40
    assert parse("RECURRING", schedule, seed="7").next_after(ANCHOR) == parse(
        "RECURRING", schedule, seed="7"
    ).next_after(ANCHOR)
