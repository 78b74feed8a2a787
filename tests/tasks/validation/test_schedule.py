from __future__ import annotations

import math
from datetime import timedelta

import pytest

from shared.exceptions import InvalidInput
from shared.instants import format_instant
from tests.tasks.bodies import ABSENT, LONG, MINIMAL, NOW, ONCE, changed, create, patch, problems

DAY = timedelta(days=1)


def recurring(**schedule):
    return MINIMAL | {"schedule": {"cron_expression": "0 8 * * *"} | schedule}


def once(**schedule):
    return ONCE | {"schedule": schedule}


RECURRING_REFUSED = [
    ("timezone", 5, "invalid_type"),
    ("timezone", None, "null"),
    ("timezone", "", "blank"),
    ("timezone", "Europe/Berlin\0", "invalid_characters"),
    ("timezone", "x" * 300, "too_long"),
    ("timezone", ["UTC"], "invalid_type"),
    ("dst_gap", "jump", "invalid_choice"),
    ("dst_gap", True, "invalid_type"),
    ("dst_gap", "NEXT_VALID", "invalid_choice"),
    ("dst_overlap", "third", "invalid_choice"),
    ("dst_overlap", 1, "invalid_type"),
    ("dst_overlap", None, "null"),
    ("start_at", "2026-11-20", "invalid_time"),
    ("start_at", "2026-11-20T08:00:00", "invalid_time"),
    ("start_at", 1795161600, "invalid_type"),
    ("start_at", "", "blank"),
    ("start_at", "1969-12-31T23:59:59Z", "out_of_range"),
    ("start_at", "2200-01-01T00:00:00Z", "out_of_range"),
    ("start_at", "0001-01-01T00:00:00+14:00", "invalid_time"),
    ("end_at", "2026-W47-5T00:00:00Z", "invalid_time"),
    ("end_at", "tomorrow", "invalid_time"),
    ("end_at", "9999-12-31T23:59:59.999999Z", "out_of_range"),
    ("end_at", False, "invalid_type"),
    ("end_at", "9" * 200, "too_long"),
    ("max_occurrences", 0, "out_of_range"),
    ("max_occurrences", -1, "out_of_range"),
    ("max_occurrences", 5.0, "invalid_type"),
    ("max_occurrences", "5", "invalid_type"),
    ("max_occurrences", True, "invalid_type"),
    ("max_occurrences", 1_000_000_001, "out_of_range"),
    ("jitter_seconds", -1, "out_of_range"),
    ("jitter_seconds", 86_401, "out_of_range"),
    ("jitter_seconds", "1", "invalid_type"),
    ("jitter_seconds", True, "invalid_type"),
    ("jitter_seconds", None, "null"),
    ("misfire_policy", "drop", "invalid_choice"),
    ("misfire_policy", None, "null"),
    ("misfire_policy", 3, "invalid_type"),
    ("misfire_grace_seconds", -0.1, "out_of_range"),
    ("misfire_grace_seconds", "3600", "invalid_type"),
    ("misfire_grace_seconds", 10**12, "out_of_range"),
    ("overlap_policy", "never", "invalid_choice"),
    ("overlap_policy", 1, "invalid_type"),
    ("max_concurrent", 0, "out_of_range"),
    ("misfire_coalesce", "newest", "invalid_choice"),
    ("misfire_replay_limit", 0, "out_of_range"),
    ("misfire_replay_per_second", 0, "out_of_range"),
    ("misfire_replay_per_second", 1001, "out_of_range"),
    ("calendar_policy", "next", "invalid_choice"),
    ("working_day", 0, "out_of_range"),
    ("working_day", 32, "out_of_range"),
    ("working_day", "1", "invalid_type"),
    ("max_concurrent", "1", "invalid_type"),
    ("max_concurrent", False, "invalid_type"),
    ("calendars", "holidays", "invalid_type"),
    ("calendars", None, "null"),
    ("calendars", ["x"] * 21, "too_many"),
    ("cron_expression", 5, "invalid_type"),
    ("cron_expression", "", "blank"),
    ("cron_expression", "   ", "blank"),
    ("cron_expression", "\0 * * * *", "invalid_characters"),
    ("cron_expression", "*" * 1001, "too_long"),
    ("cron_expression", "0 0 ?,* * *", "cron_invalid"),
    ("cron_expression", ["* * * * *"], "invalid_type"),
    ("cron_expresion", "* * * * *", "unknown_field"),
    ("interval", 5, "unknown_field"),
    ("start_date", "2026-11-20T08:00:00Z", "unknown_field"),
    ("run_at", "2026-11-20T09:00:00Z", "type_contradiction"),
    ("delay_seconds", 5, "type_contradiction"),
    ("every", "PT5M", "exclusive"),
]


@pytest.mark.parametrize(("field", "value", "code"), RECURRING_REFUSED)
def test_wrong_fields_of_a_recurring_schedule_are_named(field, value, code):
    body = changed(LONG, f"schedule/{field}", value)

    assert (f"#/schedule/{field}", code) in problems(create, body)


@pytest.mark.parametrize(
    ("schedule", "pointer", "code"),
    [
        ({"cron_expression": "61 * * * *"}, "cron_expression", None),
        ({"cron_expression": "* * *"}, "cron_expression", None),
        ({"cron_expression": "nonsense"}, "cron_expression", None),
        ({"every": "5 minutes"}, "every", None),
        ({"every": "PT0S"}, "every", None),
        ({"every": "P1M"}, "every", None),
        ({"every": 300}, "every", "invalid_type"),
        ({"every": ""}, "every", "blank"),
        ({"every": "PT5M", "timezone": "Mars/Olympus"}, "timezone", None),
        ({"cron_expression": "0 8 * * *", "timezone": "../../etc/passwd"}, "timezone", None),
    ],
)
def test_what_the_calendar_cannot_compute_is_refused_at_its_field(schedule, pointer, code):
    found = problems(create, MINIMAL | {"schedule": schedule})

    assert {place for place, _ in found} == {f"#/schedule/{pointer}"}
    assert code is None or (f"#/schedule/{pointer}", code) in found


@pytest.mark.parametrize(
    ("schedule", "pointer", "code"),
    [
        ({}, "", "required"),
        ({"timezone": "UTC"}, "", "required"),
        ({"run_at": None}, "", "required"),
        ({"run_at": "2026-11-20T09:00:00Z", "delay_seconds": 5}, "/delay_seconds", "exclusive"),
        ({"run_at": "2026-11-20T09:00:00Z", "every": "PT5M"}, "/every", "type_contradiction"),
        ({"run_at": "2026-11-20T09:00:00"}, "/run_at", "invalid_time"),
        ({"run_at": "2026-11-20 09:00:00Z"}, "/run_at", "invalid_time"),
        ({"run_at": "2026-11-31T09:00:00Z"}, "/run_at", "invalid_time"),
        ({"run_at": "2026-12-31T23:59:60Z"}, "/run_at", "invalid_time"),
        ({"run_at": "２０２６-11-20T09:00:00Z"}, "/run_at", "invalid_time"),
        ({"run_at": 1795161600}, "/run_at", "invalid_type"),
        ({"run_at": True}, "/run_at", "invalid_type"),
        ({"run_at": "2026-11-19T08:00:00Z"}, "/run_at", "run_at_past"),
        ({"run_at": "1999-01-01T00:00:00Z"}, "/run_at", "run_at_past"),
        ({"delay_seconds": -0.001}, "/delay_seconds", "out_of_range"),
        ({"delay_seconds": 10**400}, "/delay_seconds", "out_of_range"),
        ({"delay_seconds": 11 * 366 * 86400}, "/delay_seconds", "out_of_range"),
        ({"delay_seconds": "5"}, "/delay_seconds", "invalid_type"),
        ({"delay_seconds": True}, "/delay_seconds", "invalid_type"),
        ({"delay_seconds": [5]}, "/delay_seconds", "invalid_type"),
        ({"delay_seconds": 5, "end_at": "2026-12-01T00:00:00Z"}, "/end_at", "not_applicable"),
        ({"delay_seconds": 5, "start_at": "2026-12-01T00:00:00Z"}, "/start_at", "not_applicable"),
        ({"delay_seconds": 5, "max_occurrences": 3}, "/max_occurrences", "not_applicable"),
        ({"delay_seconds": 5, "dst_gap": "skip"}, "/dst_gap", "not_applicable"),
        ({"delay_seconds": 5, "timezone": "Europe/Berln"}, "/timezone", None),
        ({"delay_seconds": 5, "timezone": 1}, "/timezone", "invalid_type"),
        ({"delay_seconds": 5, "misfire_policy": "later"}, "/misfire_policy", "invalid_choice"),
        ({"delay": 5}, "/delay", "unknown_field"),
    ],
)
def test_wrong_one_time_schedules_are_refused(schedule, pointer, code):
    found = problems(create, ONCE | {"schedule": schedule})

    if code == "required" or code is None:
        assert f"#/schedule{pointer}" in {place for place, _ in found}
    else:
        assert (f"#/schedule{pointer}", code) in found


@pytest.mark.parametrize("schedule", [None, [], "0 8 * * *", 5, True])
def test_a_schedule_that_is_no_object_is_refused(schedule):
    found = problems(create, MINIMAL | {"schedule": schedule})

    assert found <= {("#/schedule", "invalid_type"), ("#/schedule", "null")}


@pytest.mark.parametrize("delay", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(delay):
    assert problems(create, once(delay_seconds=delay)) == {
        ("#/schedule/delay_seconds", "out_of_range")
    }


@pytest.mark.parametrize(
    ("said", "schedule", "place"),
    [
        ("ONE_TIME", {"cron_expression": "* * * * *"}, "cron_expression"),
        ("ONE_TIME", {"every": "PT5M"}, "every"),
        ("RECURRING", {"run_at": "2026-11-20T09:00:00Z"}, "run_at"),
        ("RECURRING", {"delay_seconds": 1}, "delay_seconds"),
    ],
)
def test_a_type_that_contradicts_the_schedule_is_refused(said, schedule, place):
    body = MINIMAL | {"type": said, "schedule": schedule}

    assert (f"#/schedule/{place}", "type_contradiction") in problems(create, body)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"cron_expression": "* * * * *"}, "RECURRING"),
        ({"every": "PT5M"}, "RECURRING"),
        ({"run_at": "2026-11-20T09:00:00Z"}, "ONE_TIME"),
        ({"delay_seconds": 0}, "ONE_TIME"),
    ],
)
def test_the_type_follows_from_the_schedule(schedule, expected):
    assert create(MINIMAL | {"schedule": schedule}).type == expected


def test_unknown_calendars_are_refused_one_by_one():
    assert problems(create, recurring(calendars=["holidays", 5, ""])) == {
        ("#/schedule/calendars/0", "calendar_unknown"),
        ("#/schedule/calendars/1", "invalid_type"),
        ("#/schedule/calendars/2", "blank"),
    }


def test_the_end_may_not_lie_before_the_start():
    body = recurring(start_at="2026-12-01T00:00:00Z", end_at="2026-12-01T00:59:00+01:00")

    assert problems(create, body) == {("#/schedule/end_at", "end_before_start")}


def test_recurring_defaults_are_those_of_the_long_form():
    assert create(MINIMAL).schedule == {
        "cron_expression": "0 8 * * *",
        "every": None,
        "timezone": "UTC",
        "dst_gap": "next_valid",
        "dst_overlap": "first",
        "start_at": None,
        "end_at": None,
        "max_occurrences": None,
        "misfire_coalesce": "latest",
        "misfire_replay_limit": None,
        "misfire_replay_per_second": 10,
        "working_day": None,
        "jitter_seconds": 0,
        "misfire_policy": "coalesce",
        "misfire_grace_seconds": None,
        "overlap_policy": "allow",
        "max_concurrent": None,
        "calendars": [],
        "calendar_policy": "skip",
    }


def test_one_time_defaults_have_no_fields_of_recurring_tasks():
    assert create(ONCE).schedule == {
        "run_at": "2026-11-20T09:00:00.000Z",
        "timezone": "UTC",
        "jitter_seconds": 0,
        "misfire_policy": "coalesce",
        "misfire_grace_seconds": None,
        "overlap_policy": "allow",
        "max_concurrent": None,
        "calendars": [],
        "calendar_policy": "skip",
    }


def test_a_one_time_task_accepts_the_defaults_of_a_recurring_one():
    body = changed(LONG, "type", "ONE_TIME")
    body = changed(changed(body, "schedule/cron_expression", None), "schedule/end_at", None)

    definition = create(changed(body, "schedule/run_at", "2026-11-20T09:00:00Z"))

    assert "dst_gap" not in definition.schedule


def test_instants_become_utc_with_milliseconds_and_are_never_early():
    schedule = create(once(run_at="2026-11-20T10:30:00.0001+01:30")).schedule

    assert schedule["run_at"] == "2026-11-20T09:00:00.001Z"


def test_a_delay_counts_from_the_call_and_is_never_early():
    assert create(once(delay_seconds=1.5)).schedule["run_at"] == "2026-11-20T08:00:01.624Z"
    assert create(once(delay_seconds=0)).schedule["run_at"] == "2026-11-20T08:00:00.124Z"


def test_a_run_at_of_up_to_a_day_past_is_taken():
    run_at = format_instant(NOW - DAY + timedelta(seconds=1))

    assert create(once(run_at=run_at)).schedule["run_at"] == run_at


def test_whole_numbers_are_integers_however_they_are_written():
    schedule = create(recurring(jitter_seconds=30.0, misfire_grace_seconds=0.5)).schedule

    assert repr(schedule["jitter_seconds"]) == "30"
    assert schedule["misfire_grace_seconds"] == 0.5


def test_tabs_between_cron_fields_are_taken_as_crontabs_have_them():
    assert create(recurring(cron_expression="0\t8 * * *")).schedule["cron_expression"]


def test_an_unknown_field_is_answered_with_the_name_that_was_meant():
    with pytest.raises(InvalidInput) as refused:
        create(changed(changed(LONG, "schedule/time_zone", "UTC"), "schedule/timezone", ABSENT))

    assert "'timezone'" in refused.value.errors[0].message


def test_an_expression_is_kept_without_white_space_around_it():
    body = recurring(cron_expression="\n 0  8 * * *\t\r\n")

    assert create(body).schedule["cron_expression"] == "0  8 * * *"


def test_every_bad_field_of_a_schedule_is_in_one_answer():
    schedule = {
        "cron_expression": "99 * * * *",
        "timezone": "Mars/Base",
        "jitter_seconds": -1,
        "misfire_policy": "never",
        "start_at": "tomorrow",
        "max_occurrences": 0,
        "calendars": ["nowhere"],
        "cron": "* * * * *",
    }

    found = {pointer for pointer, _ in problems(create, MINIMAL | {"schedule": schedule})}

    calendar = {"#/schedule/calendars/0"}
    assert found == {f"#/schedule/{name}" for name in schedule if name != "calendars"} | calendar


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"every": 5, "timezone": "Mars/Base"}, {"every", "timezone"}),
        ({"cron_expression": 5, "dst_gap": "jump"}, {"cron_expression", "dst_gap"}),
        ({"every": "5 minutes", "jitter_seconds": "x"}, {"every", "jitter_seconds"}),
        ({"every": "PT1M", "cron_expression": "x"}, {"every", "cron_expression"}),
        ({"run_at": "x", "timezone": "Mars/Base"}, {"run_at", "timezone"}),
        (
            {"every": "PT1M", "start_at": "2027-01-01T00:00:00Z", "end_at": "2026-01-01T00:00:00Z",
             "jitter_seconds": -1},
            {"end_at", "jitter_seconds"},
        ),
    ],
)  # fmt: skip
def test_a_bad_field_hides_no_other_and_is_said_once(schedule, expected):
    with pytest.raises(InvalidInput) as refused:
        create(MINIMAL | {"schedule": schedule})

    found = [error.pointer.removeprefix("#/schedule/") for error in refused.value.errors]
    assert sorted(found) == sorted(expected)


def test_bad_fields_of_every_part_are_in_one_answer():
    body = {
        "name": "",
        "schedule": {"every": "often", "jitter_seconds": -1},
        "target": {"url": "ftp://x", "method": "STEAL"},
        "retry_policy": {"max_attempts": 0},
        "priority": 99,
        "labels": {"a": 1},
    }

    assert {pointer for pointer, _ in problems(create, body)} == {
        *("#/name", "#/schedule/every", "#/schedule/jitter_seconds", "#/target/url"),
        *("#/target/method", "#/retry_policy/max_attempts", "#/priority", "#/labels/a"),
    }
    assert {
        pointer for pointer, _ in problems(patch, create(MINIMAL), {**body, "status": "GONE"})
    } >= {
        *("#/status", "#/schedule/every", "#/schedule/jitter_seconds", "#/priority"),
    }
