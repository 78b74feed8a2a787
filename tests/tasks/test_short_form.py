from __future__ import annotations

import pytest

from tests.tasks.bodies import LONG, SHORT, changed, create, problems

WEBHOOK = {"webhook_url": "https://api.example.com/reports"}


def test_both_forms_of_the_documentation_describe_the_same_task():
    long = {
        "name": "Daily Report",
        "schedule": {"cron_expression": "0 8 * * *", "end_at": "2026-12-31T00:00:00Z"},
        "target": {"url": "https://api.example.com/reports"},
        "payload": {"report_type": "daily"},
    }

    assert create(SHORT) == create(long)


@pytest.mark.parametrize(
    ("short", "schedule"),
    [
        ({"every": "PT5M"}, {"every": "PT5M"}),
        ({"delay_seconds": 2.5}, {"delay_seconds": 2.5}),
        ({"run_at": "2026-11-20T09:00:00Z"}, {"run_at": "2026-11-20T09:00:00Z"}),
        (
            {"every": "PT5M", "start_date": "2026-12-01T00:00:00Z", "timezone": "Asia/Tokyo"},
            {"every": "PT5M", "start_at": "2026-12-01T00:00:00Z", "timezone": "Asia/Tokyo"},
        ),
        (
            {"cron_expression": "@daily", "end_at": "2026-12-01T00:00:00Z", "dst_gap": "skip"},
            {"cron_expression": "@daily", "end_at": "2026-12-01T00:00:00Z", "dst_gap": "skip"},
        ),
        (
            {"cron_expression": "0 * * * *", "max_occurrences": 3, "jitter_seconds": 5},
            {"cron_expression": "0 * * * *", "max_occurrences": 3, "jitter_seconds": 5},
        ),
    ],
)
def test_every_field_of_a_schedule_may_stand_at_the_top(short, schedule):
    long = {"schedule": schedule, "target": {"url": WEBHOOK["webhook_url"]}}

    assert create(short | {"payload": WEBHOOK}) == create(long)


def test_every_field_of_a_webhook_may_stand_in_the_payload():
    target = {key: value for key, value in LONG["target"].items() if key not in ("kind", "url")}
    target |= {"method": "PUT", "timeout_seconds": 7, "headers": {"X-A": "b"}}
    short = {"every": "PT5M", "payload": WEBHOOK | target | {"body": [1, 2]}}

    definition = create(short)

    assert definition.target == target | {"kind": "webhook", "url": WEBHOOK["webhook_url"]}
    assert definition.payload == [1, 2]


def test_common_fields_are_the_same_in_both_forms():
    common = {"priority": 1, "labels": {"a": "b"}, "retry_policy": {"max_attempts": 2}}

    definition = create(SHORT | common)

    assert (definition.priority, definition.labels) == (1, {"a": "b"})
    assert definition.retry_policy["max_attempts"] == 2


def test_with_a_target_the_payload_is_only_a_payload():
    body = changed(LONG, "payload", {"webhook_url": "https://elsewhere.example/"})

    assert create(body).payload == {"webhook_url": "https://elsewhere.example/"}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (LONG | {"cron_expression": "* * * * *"}, {"#/cron_expression"}),
        (LONG | {"timezone": "UTC"}, {"#/timezone"}),
        (LONG | {"end_date": None}, {"#/end_date"}),
        (SHORT | {"schedule": {}}, {"#/cron_expression", "#/end_date", "#/payload/webhook_url"}),
        (SHORT | {"target": None}, {"#/cron_expression", "#/end_date"}),
        ({"schedule": LONG["schedule"], "payload": WEBHOOK}, {"#/payload/webhook_url"}),
        ({"every": "PT5M", "target": LONG["target"]}, {"#/every"}),
    ],
)
def test_a_mixture_of_the_forms_is_refused(body, pointers):
    assert problems(create, body) == {(pointer, "mixed_forms") for pointer in pointers}


@pytest.mark.parametrize(
    ("path", "value", "pointer", "code"),
    [
        ("cron_expression", 5, "#/cron_expression", "invalid_type"),
        ("cron_expression", "61 * * * *", "#/cron_expression", None),
        ("timezone", "Mars", "#/timezone", None),
        ("end_date", "soon", "#/end_date", "invalid_time"),
        ("start_date", "2027-01-01", "#/start_date", "invalid_time"),
        ("start_date", "2027-01-01T00:00:00Z", "#/end_date", "end_before_start"),
        ("end_at", "2026-12-31T00:00:00Z", "#/end_date", "exclusive"),
        ("every", "PT5M", "#/every", "exclusive"),
        ("run_at", "2026-11-20T09:00:00Z", "#/run_at", "type_contradiction"),
        ("priority", 11, "#/priority", "out_of_range"),
        ("cron_expresion", "x", "#/cron_expresion", "unknown_field"),
        ("calendars", ["x"], "#/calendars/0", "calendar_unknown"),
        ("payload", None, "#/payload", "invalid_type"),
        ("payload", [], "#/payload", "invalid_type"),
        ("payload", "https://example.com", "#/payload", "invalid_type"),
        ("payload/webhook_url", "ftp://x", "#/payload/webhook_url", "url_invalid"),
        ("payload/webhook_url", None, "#/payload/webhook_url", "null"),
        ("payload/webhook_url", 5, "#/payload/webhook_url", "invalid_type"),
        ("payload/webhook_url", "http://127.0.0.1/", "#/payload/webhook_url", "address_forbidden"),
        ("payload/method", "FETCH", "#/payload/method", "invalid_choice"),
        ("payload/headers", {"Host": "x"}, "#/payload/headers/Host", "header_reserved"),
        ("payload/headers", {"url": 5}, "#/payload/headers/url", "invalid_type"),
        ("payload/timeout_seconds", 0, "#/payload/timeout_seconds", "out_of_range"),
        ("payload/follow_redirects", 1, "#/payload/follow_redirects", "invalid_type"),
        ("payload/success", {"statuses": [200]}, "#/payload/success/statuses/0", "invalid_type"),
        ("payload/report_type", "daily", "#/payload/report_type", "unknown_field"),
        ("payload/url", "https://x.example", "#/payload/url", "unknown_field"),
        ("payload/kind", "webhook", "#/payload/kind", "unknown_field"),
        ("retry_policy", {"backoff": "x"}, "#/retry_policy/backoff", "invalid_choice"),
    ],
)
def test_errors_point_to_where_the_caller_wrote(path, value, pointer, code):
    found = problems(create, changed(SHORT, path, value))

    assert pointer in {place for place, _ in found}
    assert code is None or (pointer, code) in found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"payload": WEBHOOK}, {("#", "required")}),
        ({"every": "PT5M"}, {("#/payload", "required")}),
        ({"every": "PT5M", "payload": {}}, {("#/payload/webhook_url", "required")}),
        ({"every": "PT5M", "payload": {"body": 1}}, {("#/payload/webhook_url", "required")}),
    ],
)
def test_what_is_missing_is_named_in_the_callers_form(body, expected):
    assert problems(create, body) == expected


def test_errors_of_the_form_and_of_its_fields_come_together():
    body = changed(changed(SHORT, "payload/bdy", {}), "priority", "high")

    assert problems(create, body) == {
        ("#/payload/bdy", "unknown_field"),
        ("#/priority", "invalid_type"),
    }
