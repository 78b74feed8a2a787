from __future__ import annotations

import pytest

from tasks.models import Task

DAILY = {"schedule": {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"}}


def preview(client, body, **headers):
    return client.post("/v1/schedules/preview", body, **headers)


@pytest.mark.parametrize(
    "body", [DAILY, {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"}]
)
def test_the_next_instants_are_shown_for_either_form(client, body):
    asked = {"type": "RECURRING", **body, "from": "2026-11-20T00:00:00Z", "count": 2}

    answer = preview(client, asked)

    assert answer.status_code == 200
    shown = answer.json()
    assert shown["text"]
    assert shown["occurrences"] == [
        {
            "utc": f"2026-11-{day}T07:00:00.000Z",
            "local": f"2026-11-{day}T08:00:00.000+01:00",
            "due_from": f"2026-11-{day}T07:00:00.000Z",
            "due_until": f"2026-11-{day}T07:00:00.000Z",
            "notes": [],
        }
        for day in (20, 21)
    ]


def test_with_jitter_the_range_is_shown_in_which_a_task_without_an_id_starts(client):
    schedule = {**DAILY["schedule"], "jitter_seconds": 300}
    asked = {"schedule": schedule, "from": "2026-11-20T00:00:00Z", "count": 1}

    shown = preview(client, asked).json()

    assert shown["text"].endswith(", spread over up to 300 s")
    [first] = shown["occurrences"]
    assert first["utc"] == first["due_from"] == "2026-11-20T07:00:00.000Z"
    assert first["due_until"] == "2026-11-20T07:05:00.000Z"


def test_instants_are_strictly_after_from(client):
    shown = preview(client, {**DAILY, "from": "2026-11-20T07:00:00Z", "count": 1}).json()

    assert shown["occurrences"][0]["utc"] == "2026-11-21T07:00:00.000Z"


def test_a_gap_is_noted(client):
    schedule = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    body = {"schedule": schedule, "from": "2027-03-27T12:00:00Z", "count": 1}

    assert preview(client, body).json()["occurrences"][0]["notes"] == ["dst_gap"]


def test_plain_words_are_answered_with_the_fields_that_they_mean(client):
    body = {"words": "last friday of the month 18:00", "timezone": "Europe/Berlin", "count": 1}

    shown = preview(client, {**body, "from": "2026-11-20T00:00:00Z"}).json()

    assert shown["understood"] == {
        "expression": "0 18 * * 5L",
        "schedule": {"cron_expression": "0 18 * * 5L"},
    }
    assert shown["occurrences"][0]["local"] == "2026-11-27T18:00:00.000+01:00"
    assert preview(client, DAILY).json()["understood"] is None


def test_the_choice_for_changed_clocks_shows_in_the_preview(client):
    body = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    asked = {**body, "from": "2026-11-20T00:00:00Z", "count": 1, "dst_gap": "skip"}

    skipped, repeated = preview(client, asked).json()["clock_changes"]

    assert (skipped["kind"], skipped["effect"], skipped["runs"]) == ("skipped", "left_out", [])
    assert (repeated["kind"], repeated["effect"]) == ("repeated", "first")
    assert repeated["runs"] == ["2027-10-31T00:30:00.000Z"]


def test_it_starts_now_and_shows_ten_unless_told(client):
    shown = preview(client, DAILY).json()

    assert len(shown["occurrences"]) == 10


def test_nothing_is_stored_and_no_key_is_needed_for_repetition(client):
    preview(client, DAILY)

    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/schedule"),
        ({**DAILY, "count": 0}, "#/count"),
        ({**DAILY, "count": 1001}, "#/count"),
        ({**DAILY, "from": "2026-11-20"}, "#/from"),
        ({**DAILY, "oops": 1}, "#/oops"),
        ({"words": "every morning"}, "#/words"),
        ({"words": 7}, "#/words"),
        ({"words": "every day at 9", "cron_expression": "0 9 * * *"}, "#/words"),
        ({"words": "every day at 9", "timezone": "Mars/Base"}, "#/timezone"),
        ({"schedule": {"cron_expression": "61 * * * *"}}, "#/schedule/cron_expression"),
        ({"schedule": {**DAILY["schedule"], "timezone": "Mars/Base"}}, "#/schedule/timezone"),
    ],
)
def test_what_is_not_valid_is_refused(client, body, pointer):
    answer = preview(client, body)

    assert answer.status_code == 400
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
