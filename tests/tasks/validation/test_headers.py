from __future__ import annotations

import pytest

from tests.tasks.bodies import LONG, changed, create, problems

REFUSED = [
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
    ("headers/Authorization", "[redacted]", "secret_masked"),
    ("headers/cookie", "[redacted]", "secret_masked"),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_headers_are_named(field, value, code):
    body = changed(LONG, f"target/{field}", value)

    assert (f"#/target/{field}", code) in problems(create, body)


def test_header_names_in_pointers_are_escaped_and_harmless():
    body = changed(LONG, "target/headers", {"a/b~c": "x", "d\x1b": "y"})

    assert problems(create, body) == {
        ("#/target/headers/a~1b~0c", "header_invalid"),
        ("#/target/headers/d?", "header_invalid"),
    }


def test_a_header_may_be_empty_and_hold_blanks():
    headers = {"X-Empty": "", "Authorization": "Bearer abc def"}

    assert create(changed(LONG, "target/headers", headers)).target["headers"] == headers


def test_a_mask_is_text_like_any_other_in_a_header_that_is_not_secret():
    definition = create(changed(LONG, "target/headers/X-Note", "[redacted]"))

    assert definition.target["headers"]["X-Note"] == "[redacted]"
