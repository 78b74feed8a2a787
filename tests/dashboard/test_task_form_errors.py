"""What a form says of secrets, and of several mistakes at once."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.task_form.form import EMPTY, field_errors, form_of, judge_form, read_form
from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.definition import Definition, to_long
from tasks.validation.bodies import parse_create, parse_replace
from tests.tasks.bodies import LIMITS, NOW

URL = "https://api.example.com/reports"


def edited(source: Definition, **fields: str) -> dict[str, Any]:
    """Return the target that a form filled from the source describes, with these fields typed."""
    base = to_long(source)
    body = read_form({**form_of(base), **fields}, base)
    return parse_replace(body, now=NOW, limits=LIMITS, current=source).target


def secretive(**target: Any) -> Definition:
    body = {"schedule": {"cron_expression": "0 8 * * *"}, "target": {"url": URL, **target}}
    return parse_create(body, now=NOW, limits=LIMITS)


def test_values_of_secret_headers_are_not_shown_and_stay():
    source = secretive(headers={"Authorization": "Bearer s3cr3t", "X-A": "1"})

    assert "s3cr3t" not in str(form_of(to_long(source)))
    assert edited(source) == source.target
    assert edited(source, headers=f"authorization: {MASK}\nX-A: 2")["headers"] == {
        "authorization": "Bearer s3cr3t",
        "X-A": "2",
    }
    typed = edited(source, headers="Authorization: Bearer new")
    assert typed["headers"] == {"Authorization": "Bearer new"}


def test_secrets_are_asked_for_at_their_fields_when_the_url_moves():
    source = secretive(
        headers={"Cookie": "a=b", "X-Key": "k"}, auth={"type": "bearer", "token": "t"}
    )

    with pytest.raises(InvalidInput) as refused:
        edited(source, url="https://elsewhere.example.com/")

    found = field_errors(refused.value.errors)
    assert found.keys() == {"auth_token", "headers"}
    assert "Cookie" in found["headers"]
    assert "X-Key" in found["headers"]


def test_a_masked_value_that_nobody_knows_is_refused():
    body = read_form({**EMPTY, "url": URL, "headers": f"Authorization: {MASK}"})

    with pytest.raises(InvalidInput) as refused:
        parse_create(body, now=NOW, limits=LIMITS)

    assert "headers" in field_errors(refused.value.errors)


def test_what_is_no_value_and_what_is_not_valid_are_said_at_once():
    fields = {
        **EMPTY,
        "url": "ftp://x",
        "cron_expression": "99 * * * *",
        "payload": "{",
        "priority": "high",
        "jitter_seconds": "-1",
    }

    with pytest.raises(InvalidInput) as refused:
        judge_form(fields, None, lambda body: parse_create(body, now=NOW, limits=LIMITS))

    assert field_errors(refused.value.errors).keys() == {
        *("url", "cron_expression", "payload", "priority", "jitter_seconds")
    }


def test_a_time_that_cannot_be_read_is_not_said_to_be_missing_besides():
    fields = {**EMPTY, "url": URL, "when": "at", "run_at": "tomorrow"}

    with pytest.raises(InvalidInput) as refused:
        judge_form(fields, None, lambda body: parse_create(body, now=NOW, limits=LIMITS))

    assert [error.pointer for error in refused.value.errors] == ["#/schedule/run_at"]
