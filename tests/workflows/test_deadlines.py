"""When what is open of a run, or a step, will be cancelled."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.conf import conf
from shared.exceptions import InvalidInput
from tasks.limits import current_limits
from tasks.validation.workflow import parse_workflow
from tests.support.workflows import calls
from workflows.deadlines import deadline_of_run, time_of_day

NOW = datetime(2026, 3, 28, 3, 0, tzinfo=UTC)
NIGHTLY = {"cron_expression": "0 2 * * *", "timezone": "Europe/Berlin"}


def deadline(scheduled_for: datetime, began_at: datetime, **parts: Any) -> datetime:
    body = {"name": "Nightly", "steps": [calls("a")], "schedule": NIGHTLY, **parts}
    return deadline_of_run(
        parse_workflow(body, now=NOW, limits=current_limits()), scheduled_for, began_at
    )


def test_seconds_count_from_the_begin():
    assert deadline(NOW, NOW + timedelta(hours=2), deadline_seconds=60) == NOW + timedelta(
        hours=2, seconds=60
    )


def test_a_run_without_a_deadline_has_a_week():
    assert deadline(NOW, NOW) == NOW + timedelta(days=7)


@pytest.mark.parametrize(
    ("scheduled_for", "expected"),
    [
        (datetime(2026, 3, 28, 1, 0, tzinfo=UTC), datetime(2026, 3, 28, 5, 0, tzinfo=UTC)),
        # The clocks go forward in that night.
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), datetime(2026, 3, 29, 4, 0, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_the_first_after_the_scheduled_time_in_the_zone(
    scheduled_for: datetime, expected: datetime
):
    assert deadline(scheduled_for, scheduled_for, deadline_at="06:00") == expected


def test_a_time_of_day_in_another_zone():
    found = deadline(NOW, NOW, deadline_at="06:00", deadline_timezone="America/New_York")

    assert found == datetime(2026, 3, 28, 10, 0, tzinfo=UTC)


def test_a_time_of_day_does_not_hold_for_a_run_that_begins_after_it():
    late = datetime(2026, 3, 28, 9, 0, tzinfo=UTC)

    assert deadline(NOW, late, deadline_at="06:00") == late + timedelta(days=7)


def test_a_step_without_a_time_of_day_has_none():
    assert time_of_day({"deadline_at": None, "deadline_timezone": None}, NIGHTLY, NOW) is None


@pytest.mark.parametrize(("kept", "days"), [(90, 7), (8, 7), (7, 6), (2, 1), (1, 1)])
def test_a_run_ends_before_its_day_leaves_the_history(settings: Any, kept: int, days: int):
    settings.PUNCTUAL = replace(conf(), retention_days=kept)

    assert deadline(NOW, NOW) == NOW + timedelta(days=days)


def test_what_takes_longer_than_runs_are_kept_is_refused(settings: Any):
    # Fault 27 of the design.
    month = 29 * 24 * 3600
    asks = {"key": "ask", "kind": "approval", "timeout_seconds": month}
    body = {"name": "Flow", "steps": [asks], "deadline_seconds": month}
    settings.PUNCTUAL = replace(conf(), retention_days=30)
    assert (
        parse_workflow(body, now=NOW, limits=current_limits()).target["deadline_seconds"] == month
    )

    settings.PUNCTUAL = replace(conf(), retention_days=7)
    with pytest.raises(InvalidInput) as refused:
        parse_workflow(body, now=NOW, limits=current_limits())

    assert {(error.pointer, error.code) for error in refused.value.errors} == {
        ("#/steps/0/timeout_seconds", "out_of_range"),
        ("#/deadline_seconds", "out_of_range"),
    }
