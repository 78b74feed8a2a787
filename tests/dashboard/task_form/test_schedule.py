from __future__ import annotations

from typing import Any

import pytest

from dashboard.task_form.schedule import EMPTY, PLAIN, read_schedule, show_schedule
from dashboard.task_form.values import Form
from tasks.definition import RECURRING_SCHEDULE_DEFAULTS

CRON: dict[str, Any] = {**RECURRING_SCHEDULE_DEFAULTS, "cron_expression": "0 8 * * *"}


def read(fields: dict[str, str], base: dict[str, Any] | None = None) -> tuple[dict[str, Any], Form]:
    form = Form({**EMPTY, **fields}, show_schedule(base) if base else {}, {}, [])
    return read_schedule(form, base or {}), form


def test_every_field_of_a_schedule_has_its_place_in_the_form():
    shown_otherwise = {"cron_expression", "every", "start_at", "end_at", "calendars"}

    assert {*PLAIN} | shown_otherwise == {*RECURRING_SCHEDULE_DEFAULTS}


def test_what_is_shown_is_read_again():
    found, form = read(show_schedule(CRON), CRON)

    assert {name: value for name, value in CRON.items() if name != "every"} == found
    assert form.errors == []


@pytest.mark.parametrize("when", ["at", "after"])
def test_a_one_time_task_takes_nothing_that_recurs(when):
    found, _ = read({"when": when, "run_at": "2027-01-01T08:00"}, CRON)

    assert not found.keys() & {"dst_gap", "working_day", "misfire_coalesce", "max_occurrences"}
    assert {"jitter_seconds", "overlap_policy", "calendars"} <= found.keys()


def test_a_fixed_rate_takes_nothing_of_cron():
    found, _ = read({"when": "every"}, {**CRON, "working_day": 1})

    assert not found.keys() & {"dst_gap", "dst_overlap", "working_day", "start_at"}
    assert found["misfire_coalesce"] == "latest"


def test_calendars_stand_one_in_each_line():
    shown = show_schedule({**CRON, "calendars": ["Holidays", "Close-down"]})

    assert shown["calendars"] == "Holidays\nClose-down"
    assert read(shown)[0]["calendars"] == ["Holidays", "Close-down"]
    assert read({"calendars": ""})[0]["calendars"] == []


def test_a_kind_that_there_is_not_is_refused():
    _, form = read({"when": "never"})

    assert [error.code for error in form.errors] == ["invalid_choice"]
