from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.exceptions import InvalidInput
from tasks.preview import preview
from tests.tasks.bodies import NOW, problems


def show(body):
    return preview(body, now=NOW)


def instants(body):
    return [occurrence["utc"] for occurrence in show(body)["occurrences"]]


def test_the_next_instants_come_with_local_time_and_words():
    answer = show(
        {
            "type": "RECURRING",
            "schedule": {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"},
            "from": "2026-11-20T00:00:00Z",
            "count": 2,
        }
    )

    assert answer.pop("text")
    assert [change["at"] for change in answer.pop("clock_changes")] == [
        "2027-03-28T01:00:00.000Z",
        "2027-10-31T01:00:00.000Z",
    ]
    assert answer == {
        "understood": None,
        "occurrences": [
            {
                "utc": "2026-11-20T07:00:00.000Z",
                "local": "2026-11-20T08:00:00.000+01:00",
                "due_from": "2026-11-20T07:00:00.000Z",
                "due_until": "2026-11-20T07:00:00.000Z",
                "notes": [],
            },
            {
                "utc": "2026-11-21T07:00:00.000Z",
                "local": "2026-11-21T08:00:00.000+01:00",
                "due_from": "2026-11-21T07:00:00.000Z",
                "due_until": "2026-11-21T07:00:00.000Z",
                "notes": [],
            },
        ],
    }


def test_a_change_of_the_clocks_is_noted():
    schedule = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin"}

    answer = show({"schedule": schedule, "from": "2027-03-27T12:00:00Z", "count": 1})

    assert answer["occurrences"] == [
        {
            "utc": "2027-03-28T01:00:00.000Z",
            "local": "2027-03-28T03:00:00.000+02:00",
            "due_from": "2027-03-28T01:00:00.000Z",
            "due_until": "2027-03-28T01:00:00.000Z",
            "notes": ["dst_gap"],
        }
    ]


def test_ten_instants_after_now_are_shown_unless_told_otherwise():
    found = instants({"schedule": {"cron_expression": "* * * * *"}})

    assert len(found) == 10
    assert found[0] == "2026-11-20T08:01:00.000Z"


def test_from_itself_is_not_among_the_instants():
    body = {"schedule": {"cron_expression": "* * * * *"}, "from": "2026-11-20T08:00:00Z"}

    assert instants(body | {"count": 1}) == ["2026-11-20T08:01:00.000Z"]


def test_a_thousand_instants_can_be_had():
    assert len(instants({"schedule": {"every": "PT1S"}, "count": 1000})) == 1000


@pytest.mark.parametrize("body", [{"every": "PT5M"}, {"schedule": {"every": "PT5M"}}])
def test_both_forms_are_taken_and_a_rate_counts_from_now(body):
    assert instants(body | {"count": 1}) == ["2026-11-20T08:05:00.124Z"]


def test_the_schedule_ends_where_it_ends():
    body = {"cron_expression": "0 * * * *", "end_date": "2026-11-20T10:30:00Z"}

    assert instants(body) == ["2026-11-20T09:00:00.000Z", "2026-11-20T10:00:00.000Z"]


def test_occurrences_before_from_count_towards_the_maximum():
    schedule = {"every": "PT1H", "start_at": "2026-11-20T00:00:00Z", "max_occurrences": 12}

    assert len(instants({"schedule": schedule, "from": "2026-11-20T08:30:00Z"})) == 3
    assert len(instants({"schedule": schedule, "from": "2026-11-21T00:00:00Z"})) == 0
    assert len(instants({"schedule": {"every": "PT1H", "max_occurrences": 4}})) == 4


def test_a_one_time_task_has_one_instant_or_none_left():
    assert instants({"delay_seconds": 60}) == ["2026-11-20T08:01:00.124Z"]
    assert instants({"run_at": "2020-01-01T00:00:00Z"}) == []


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "#/schedule", "required"),
        ([], "#", "invalid_type"),
        ({"schedule": {}}, "#/schedule", "required"),
        ({"schedule": None}, "#/schedule", "null"),
        ({"schedule": "* * * * *"}, "#/schedule", "invalid_type"),
        ({"schedule": {"cron_expression": "x"}}, "#/schedule/cron_expression", "cron_invalid"),
        ({"cron_expression": "x"}, "#/cron_expression", "cron_invalid"),
        ({"type": "ONE_TIME", "every": "PT5M"}, "#/every", "type_contradiction"),
        ({"type": "HOURLY", "every": "PT5M"}, "#/type", "invalid_choice"),
        ({"every": "PT5M", "schedule": {}}, "#/every", "mixed_forms"),
        ({"every": "PT5M", "count": 0}, "#/count", "out_of_range"),
        ({"every": "PT5M", "count": 1001}, "#/count", "out_of_range"),
        ({"every": "PT5M", "count": "10"}, "#/count", "invalid_type"),
        ({"every": "PT5M", "count": None}, "#/count", "null"),
        ({"every": "PT5M", "from": "2026-11-20"}, "#/from", "invalid_time"),
        ({"every": "PT5M", "from": 5}, "#/from", "invalid_type"),
        ({"every": "PT5M", "form": "2026-11-20T00:00:00Z"}, "#/form", "unknown_field"),
        ({"every": "PT5M", "name": "x"}, "#/name", "unknown_field"),
        ({"every": "PT5M", "payload": {"webhook_url": "x"}}, "#/payload", "unknown_field"),
    ],
)
def test_wrong_previews_are_refused(body, pointer, code):
    assert (pointer, code) in problems(show, body)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["type", "schedule", "from", "count", "every", "timezone", "run_at"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.just({"every": 1}),
    )
)
def test_whatever_json_comes_only_known_errors_are_raised(body):
    with suppress(InvalidInput):
        show(body)


def test_a_preview_names_every_bad_field():
    body = {
        "schedule": {"cron_expression": "x", "timezone": "Mars/Base", "jitter_seconds": -1},
        "count": 0,
        "from": "now",
    }

    assert {pointer for pointer, _ in problems(show, body)} == {
        *("#/schedule/cron_expression", "#/schedule/timezone", "#/schedule/jitter_seconds"),
        *("#/count", "#/from"),
    }
