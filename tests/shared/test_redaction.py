from __future__ import annotations

import pytest

from shared.redaction import MASK, redact, redact_text


@pytest.mark.parametrize(
    "secret",
    [
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "pk_abcdefghi_s3cr3t-Text_x",
        "postgresql://punctual:canary@/punctual",
        "Authorization: Bearer canary-token",
        "redis://:canary@h",
        "token=eyJcanary.eyJcanary.canary-signature",
        "first line\\neyJcanary.eyJcanary.canary-signature",
    ],
)
def test_texts_that_look_like_our_secrets_are_masked(secret):
    masked = redact_text(f"before {secret} after")

    assert MASK in masked
    for part in ("canary", "MfKQ9r8", "s3cr3t"):
        assert part not in masked


def test_values_under_sensitive_names_are_masked_at_any_depth():
    value = {"name": "x", "target": {"headers": {"X-Key": "canary"}, "url": "https://a.example"}}

    assert redact(value) == {
        "name": "x",
        "target": {"headers": MASK, "url": "https://a.example"},
    }


def test_nothing_under_a_sensitive_name_stays_nothing():
    assert redact({"payload": None}) == {"payload": None}


def test_a_value_nested_beyond_reason_is_masked_whole():
    value: object = "canary"
    for _ in range(20):
        value = [value]

    assert "canary" not in str(redact(value))


def test_a_long_text_of_beginnings_of_tokens_is_searched_once():
    # From each of a million beginnings the search would run to the end: for an hour, not a moment.
    text = "eyJ" * 1_000_000

    assert redact_text(text) == text
