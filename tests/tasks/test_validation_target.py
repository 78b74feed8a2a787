from __future__ import annotations

import pytest

from tests.tasks.bodies import LONG, MINIMAL, changed, create, problems

URL = "https://api.example.com/reports"

REFUSED = [
    ("kind", "pool", "not_supported"),
    ("kind", "handler", "not_supported"),
    ("kind", "command", "not_supported"),
    ("kind", "email", "invalid_choice"),
    ("kind", 1, "invalid_type"),
    ("kind", None, "null"),
    ("url", 5, "invalid_type"),
    ("url", None, "null"),
    ("url", "", "blank"),
    ("url", "https://example.com/" + "x" * 2048, "too_long"),
    ("url", "https://example.com/\0", "invalid_characters"),
    ("url", "https://example.com/\n", "invalid_characters"),
    ("url", "ftp://example.com/", "url_invalid"),
    ("url", "file:///etc/passwd", "url_invalid"),
    ("url", "//example.com", "url_invalid"),
    ("url", "example.com", "url_invalid"),
    ("url", "https://", "url_invalid"),
    ("url", "https://user:secret@example.com/", "url_invalid"),
    ("url", "http://127.0.0.1:8000/", "address_forbidden"),
    ("url", "http://10.0.0.1/", "address_forbidden"),
    ("url", "http://169.254.169.254/latest/meta-data", "address_forbidden"),
    ("url", "http://[::1]/", "address_forbidden"),
    ("url", "http://2130706433/", "address_forbidden"),
    ("url", "http://0x7f.1/", "address_forbidden"),
    ("url", "http://example.com:22/", "port_forbidden"),
    ("url", "http://example.com:0/", "url_invalid"),
    ("url", "http://example.com:99999/", "url_invalid"),
    ("url", "http://a b.example/", "url_invalid"),
    ("method", "TRACE", "invalid_choice"),
    ("method", "CONNECT", "invalid_choice"),
    ("method", "post", "invalid_choice"),
    ("method", "", "invalid_choice"),
    ("method", "GET\r\nX: y", "invalid_choice"),
    ("method", 1, "invalid_type"),
    ("method", None, "null"),
    ("headers", [], "invalid_type"),
    ("headers", "X-Team: billing", "invalid_type"),
    ("headers", None, "null"),
    ("headers", {f"X-{n}": "1" for n in range(65)}, "too_many"),
    ("headers", {f"X-{n}": "x" * 1000 for n in range(17)}, "too_long"),
    ("headers/X-Number", 5, "invalid_type"),
    ("headers/X-Null", None, "invalid_type"),
    ("headers/X-True", True, "invalid_type"),
    ("headers/Host", "example.org", "header_reserved"),
    ("headers/content-length", "5", "header_reserved"),
    ("headers/Transfer-Encoding", "chunked", "header_reserved"),
    ("headers/Connection", "close", "header_reserved"),
    ("headers/TE", "trailers", "header_reserved"),
    ("headers/Upgrade", "h2c", "header_reserved"),
    ("headers/Proxy-Authorization", "x", "header_reserved"),
    ("headers/webhook-id", "x", "header_reserved"),
    ("headers/Webhook-Signature", "x", "header_reserved"),
    ("headers/Idempotency-Key", "x", "header_reserved"),
    ("headers/X-Scheduler-Task-Id", "x", "header_reserved"),
    ("headers/traceparent", "x", "header_reserved"),
    ("headers/X-A", "a\r\nX-B: b", "header_invalid"),
    ("headers/X-A", "a\nb", "header_invalid"),
    ("headers/X Space", "a", "header_invalid"),
    ("headers/x-team", "twice", "duplicate"),
    ("timeout_seconds", 0, "out_of_range"),
    ("timeout_seconds", 0.09, "out_of_range"),
    ("timeout_seconds", 3600.5, "out_of_range"),
    ("timeout_seconds", "30", "invalid_type"),
    ("timeout_seconds", True, "invalid_type"),
    ("timeout_seconds", None, "null"),
    ("timeout_seconds", [30], "invalid_type"),
    ("connect_timeout_seconds", 0, "out_of_range"),
    ("connect_timeout_seconds", 61, "out_of_range"),
    ("connect_timeout_seconds", "5", "invalid_type"),
    ("completion", "callback", "not_supported"),
    ("completion", "later", "invalid_choice"),
    ("completion", False, "invalid_type"),
    ("heartbeat_timeout_seconds", 0, "out_of_range"),
    ("heartbeat_timeout_seconds", None, "null"),
    ("max_runtime_seconds", 0, "out_of_range"),
    ("max_runtime_seconds", 29, "out_of_range"),
    ("max_runtime_seconds", "60", "invalid_type"),
    ("template", True, "not_supported"),
    ("template", "false", "invalid_type"),
    ("template", 0, "invalid_type"),
    ("follow_redirects", True, "not_supported"),
    ("follow_redirects", None, "null"),
    ("auth", {"type": "basic"}, "not_supported"),
    ("auth", "bearer", "not_supported"),
    ("success", [], "invalid_type"),
    ("success", None, "null"),
    ("success/json", {"ok": True}, "not_supported"),
    ("success/status", ["2xx"], "unknown_field"),
    ("success/statuses", [], "out_of_range"),
    ("success/statuses", "2xx", "invalid_type"),
    ("success/statuses", ["200"] * 51, "out_of_range"),
    ("requires", {}, "unknown_field"),
    ("uri", URL, "unknown_field"),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_fields_of_a_target_are_named(field, value, code):
    body = changed(LONG, f"target/{field}", value)

    assert (f"#/target/{field}", code) in problems(create, body)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, "invalid_type"),
        ("2XXX", "invalid_choice"),
        ("abc", "invalid_choice"),
        ("99", "invalid_choice"),
        ("600", "invalid_choice"),
        ("２00", "invalid_choice"),
        ("", "invalid_choice"),
        (None, "invalid_type"),
    ],
)
def test_statuses_that_are_no_patterns_are_refused_by_place(status, code):
    body = changed(LONG, "target/success", {"statuses": ["2xx", status]})

    assert problems(create, body) == {("#/target/success/statuses/1", code)}


@pytest.mark.parametrize("target", [None, [], URL, 5])
def test_a_target_that_is_no_object_is_refused(target):
    found = problems(create, MINIMAL | {"target": target})

    assert found <= {("#/target", "invalid_type"), ("#/target", "null")}


def test_a_target_without_url_is_refused():
    assert problems(create, MINIMAL | {"target": {}}) == {("#/target/url", "required")}


def test_header_names_in_pointers_are_escaped_and_harmless():
    body = changed(LONG, "target/headers", {"a/b~c": "x", "d\x1b": "y"})

    assert problems(create, body) == {
        ("#/target/headers/a~1b~0c", "header_invalid"),
        ("#/target/headers/d?", "header_invalid"),
    }


def test_other_fields_of_a_later_kind_are_not_reported_as_unknown():
    body = MINIMAL | {"target": {"kind": "pool", "pool": "batch-etl", "handler": "invoices"}}

    assert problems(create, body) == {("#/target/kind", "not_supported")}


def test_target_defaults_are_those_of_the_long_form():
    assert create(MINIMAL).target == LONG["target"] | {"headers": {}}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_every_method_may_carry_a_payload(method):
    definition = create(changed(LONG, "target/method", method))

    assert (definition.target["method"], definition.payload) == (method, LONG["payload"])


@pytest.mark.parametrize("seconds", [0.1, 0.5, 1, 3600])
def test_timeouts_within_the_bounds_are_taken_as_given(seconds):
    assert create(changed(LONG, "target/timeout_seconds", seconds)).target[
        "timeout_seconds"
    ] == pytest.approx(seconds)


@pytest.mark.parametrize("statuses", [["200"], ["2xx", "304"], ["200-204"]])
def test_statuses_classes_and_ranges_decide_over_success(statuses):
    definition = create(changed(LONG, "target/success", {"statuses": statuses}))

    assert definition.target["success"] == {"statuses": statuses}


def test_a_header_may_be_empty_and_hold_blanks():
    headers = {"X-Empty": "", "Authorization": "Bearer abc def"}

    assert create(changed(LONG, "target/headers", headers)).target["headers"] == headers
