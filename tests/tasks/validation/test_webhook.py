from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.bodies import (
    LONG,
    MINIMAL,
    WEBHOOK,
    changed,
    create,
    patch,
    problems,
    with_target,
)

URL = "https://api.example.com/reports"

REFUSED: list[Any] = [
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
    ("completion", "later", "invalid_choice"),
    ("completion", False, "invalid_type"),
    ("heartbeat_timeout_seconds", 0, "out_of_range"),
    ("heartbeat_timeout_seconds", None, "null"),
    ("max_runtime_seconds", 0, "out_of_range"),
    ("max_runtime_seconds", 31 * 86400, "out_of_range"),
    ("max_runtime_seconds", 60, "not_applicable"),
    ("body_format", "xml", "invalid_choice"),
    ("body_format", None, "null"),
    ("auth", "bearer", "invalid_type"),
    ("auth", [], "invalid_type"),
    ("tls", True, "invalid_type"),
    ("proxy", "http://proxy.example:3128", "invalid_type"),
    ("max_runtime_seconds", "60", "invalid_type"),
    ("template", "false", "invalid_type"),
    ("template", 0, "invalid_type"),
    ("follow_redirects", None, "null"),
    ("requires", {}, "unknown_field"),
    ("uri", URL, "unknown_field"),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_fields_of_a_target_are_named(field, value, code):
    body = changed(LONG, f"target/{field}", value)

    assert (f"#/target/{field}", code) in problems(create, body)


def test_a_target_without_url_is_refused():
    assert problems(create, MINIMAL | {"target": {}}) == {("#/target/url", "required")}


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


def test_a_callback_may_have_an_upper_limit_above_the_time_out_only():
    callback = {"url": URL, "completion": "callback", "timeout_seconds": 30}

    taken = create(with_target({**callback, "max_runtime_seconds": 30}))
    found = problems(create, with_target({**callback, "max_runtime_seconds": 29}))

    assert taken.target["max_runtime_seconds"] == 30
    assert found == {("#/target/max_runtime_seconds", "out_of_range")}


def test_an_edit_that_ends_callbacks_ends_their_upper_limit():
    edited, _ = patch(create(with_target(WEBHOOK)), {"target": {"completion": "response"}})

    assert edited.target["max_runtime_seconds"] is None


@pytest.mark.parametrize("payload", ["<xml/>", "", None])
def test_a_raw_body_is_text_or_nothing(payload):
    body = changed(MINIMAL, "target/body_format", "raw") | {"payload": payload}

    assert create(body).payload == payload


@pytest.mark.parametrize("payload", [{}, [], 5, True])
def test_a_raw_body_that_is_no_text_is_refused(payload):
    body = changed(MINIMAL, "target/body_format", "raw") | {"payload": payload}

    assert problems(create, body) == {("#/payload", "invalid_type")}


def test_a_raw_body_of_the_short_form_is_refused_where_it_stands():
    payload = {"webhook_url": URL, "body_format": "raw", "body": {"a": 1}}

    found = problems(create, {"every": "PT5M", "payload": payload})

    assert found == {("#/payload/body", "invalid_type")}


@pytest.mark.parametrize(
    "criterion", [{"body_pattern": "ok"}, {"json": {"path": "$", "equals": 1}}]
)
def test_the_body_of_an_answer_to_head_is_no_criterion(criterion):
    target = {"url": URL, "method": "HEAD", "success": criterion}

    [key] = criterion
    assert problems(create, with_target(target)) == {(f"#/target/success/{key}", "not_applicable")}
