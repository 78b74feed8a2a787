from __future__ import annotations

import json

import pytest

from tasks.choices import TaskType
from tasks.definition import (
    ONE_TIME_SCHEDULE_DEFAULTS,
    from_stored,
    is_limited,
    is_plain,
    to_long,
    to_stored,
)
from tests.tasks.bodies import LONG, MINIMAL, ONCE, SHORT, create


@pytest.mark.parametrize("body", [LONG, SHORT, MINIMAL, ONCE])
def test_a_definition_comes_back_from_storage_as_it_was(body):
    definition = create(body)

    assert from_stored(json.loads(json.dumps(to_stored(definition)))) == definition


def test_what_is_stored_shares_nothing_with_the_definition():
    definition = create(LONG)
    stored = to_stored(definition)

    stored["target"]["headers"]["X-Late"] = "1"

    assert definition.target["headers"] == {"X-Team": "billing"}


def test_a_key_that_an_older_version_did_not_store_reads_as_its_default():
    stored = to_stored(create(LONG))
    del stored["target"]["follow_redirects"], stored["schedule"]["calendars"], stored["labels"]

    definition = from_stored(stored)

    assert definition.target["follow_redirects"] is False
    assert definition.schedule["calendars"] == []
    assert definition.labels == {}


def test_the_long_form_leaves_out_the_alternatives_that_are_not_used():
    cron, once = to_long(create(MINIMAL)), to_long(create(ONCE))
    every = to_long(create(MINIMAL | {"schedule": {"every": "PT5M"}}))

    assert "every" not in cron["schedule"]
    assert "cron_expression" not in every["schedule"]
    assert "cron_expression" not in once["schedule"]
    assert "delays_seconds" not in cron["retry_policy"]


def test_listed_delays_are_answered():
    policy = {"backoff": "listed", "delays_seconds": [1, 2.5]}

    long = to_long(create(MINIMAL | {"retry_policy": policy}))

    assert long["retry_policy"]["delays_seconds"] == [1, 2.5]


def once(**schedule: object) -> dict[str, object]:
    return {**ONE_TIME_SCHEDULE_DEFAULTS, "run_at": "2026-11-27T12:00:00.000Z", **schedule}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_task_that_runs_once_is_plain_in_any_zone(zone: str):
    assert is_plain(TaskType.ONE_TIME, once(timezone=zone))
    assert not is_plain(TaskType.RECURRING, once(timezone=zone))


@pytest.mark.parametrize(
    "schedule",
    [
        once(jitter_seconds=5),
        once(misfire_grace_seconds=0),
        once(calendars=["holidays"]),
        once(misfire_policy="skip"),
        once(overlap_policy="skip"),
        once(max_concurrent=1),
        once(cron_expression="* * * * *"),
    ],
)
def test_what_anything_but_its_instant_decides_about_is_not_plain(schedule: dict[str, object]):
    assert not is_plain(TaskType.ONE_TIME, schedule)


@pytest.mark.parametrize(
    ("schedule", "limited"),
    [
        (once(), False),
        (once(overlap_policy="queue_one"), True),
        (once(max_concurrent=3), True),
        ({}, False),
    ],
)
def test_a_schedule_with_a_policy_or_a_limit_is_limited(schedule: dict[str, object], limited: bool):
    assert is_limited(schedule) is limited
