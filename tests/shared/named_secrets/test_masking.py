"""What a receiver repeats of the secrets that it was sent is masked wherever it stands."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from shared.named_secrets.bindings import Binding
from shared.named_secrets.masking import masked_document, masked_text
from shared.named_secrets.opened import NO_SECRETS, Secrets
from shared.named_secrets.sealed import NamedValue
from shared.redaction import MASK

VALUE = 's3cret"värde/0815'
SECRETS = Secrets({"token": NamedValue(VALUE, Binding(("*",)))}, ["token"])


def masked(value: Any, secrets: Secrets | None = SECRETS) -> Any:
    return orjson.loads(masked_document(orjson.dumps(value), secrets))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (VALUE, MASK),
        ({"echo": f"Bearer {VALUE}", "n": 1}, {"echo": f"Bearer {MASK}", "n": 1}),
        ([[{"deep": [VALUE]}]], [[{"deep": [MASK]}]]),
        ({VALUE: "as a name"}, {MASK: "as a name"}),
        ({"plain": [1, 2.5, None, True]}, {"plain": [1, 2.5, None, True]}),
    ],
)
def test_values_are_masked_in_texts_and_names_at_any_depth(value, shown):
    assert masked(value) == shown


def test_an_encoded_value_is_masked_too():
    [shown] = masked([base64.b64encode(VALUE.encode()).decode()])

    assert MASK in shown
    assert base64.b64encode(VALUE.encode()).decode()[:12] not in shown


def test_a_number_that_is_a_secret_is_masked():
    digits = Secrets({"pin": NamedValue("81520394", Binding(("*",)))}, ["pin"])

    assert "81520394" not in str(masked({"pin": 81520394}, digits))


def test_without_secrets_nothing_changes():
    document = b'{"b":1,"a":[1e3]}'

    assert masked_document(document, NO_SECRETS) is document
    assert masked_text("plain", NO_SECRETS) == "plain"


def test_a_document_that_holds_no_secret_stays_as_it_was_written():
    document = b'{"n": 123456789012345678901234567890, "b": 1, "a": 2}'

    assert masked_document(document, SECRETS) is document


def test_a_value_that_needless_escapes_hide_is_found():
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in VALUE)

    assert orjson.loads(masked_document(f'["{hidden}"]'.encode(), SECRETS)) == [MASK]


@pytest.mark.parametrize("depth", [200, 600])
def test_a_deeply_nested_document_is_masked_too(depth: int):
    inside = orjson.dumps(VALUE)

    shown = masked_document(b"[" * depth + inside + b"]" * depth, SECRETS)

    assert inside not in shown
    assert MASK.encode() in shown
    assert orjson.loads(shown)


def test_where_no_key_opens_the_secrets_nothing_is_kept():
    assert masked({"maybe": VALUE}, None) == MASK
    assert masked_text(VALUE, None) == MASK
