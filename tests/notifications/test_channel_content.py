"""Bodies of channels: every wrong field is named."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.channel_content import read_changes, read_new
from shared.exceptions import InvalidInput
from tests.support.alert_channels import body


def problems(read: Any, *args: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        read(*args)
    return [(error.pointer, error.code) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("parts", "wrong"),
    [
        ({"name": ""}, ("#/name", "blank")),
        ({"name": None}, ("#/name", "null")),
        ({"kind": "mail"}, ("#/kind", "invalid_choice")),
        ({"url": "ftp://x"}, ("#/url", "url_invalid")),
        ({"url": "http://10.0.0.1/"}, ("#/url", "address_forbidden")),
        ({"url": "http://example.com:22/"}, ("#/url", "port_forbidden")),
        ({"url": 7}, ("#/url", "invalid_type")),
        ({"kinds": ["recovered"]}, ("#/kinds/0", "invalid_choice")),
        ({"kinds": [{}]}, ("#/kinds/0", "invalid_choice")),
        ({"kinds": "all"}, ("#/kinds", "invalid_type")),
        ({"rules": ["x"]}, ("#/rules/0", "invalid")),
        ({"rules": [7]}, ("#/rules/0", "invalid")),
        ({"rules": ["x"] * 101}, ("#/rules", "too_many")),
        ({"after_seconds": -1}, ("#/after_seconds", "out_of_range")),
        ({"after_seconds": 86401}, ("#/after_seconds", "out_of_range")),
        ({"after_seconds": "60"}, ("#/after_seconds", "invalid_type")),
        ({"colour": "red"}, ("#/colour", "unknown_field")),
    ],
)
def test_a_wrong_field_is_named(parts: dict[str, Any], wrong: tuple[str, str]) -> None:
    assert problems(read_new, body(**parts)) == [wrong]


def test_what_is_missing_is_named() -> None:
    assert {pointer for pointer, _ in problems(read_new, {})} == {"#/name", "#/kind", "#/url"}


def test_the_kind_of_a_channel_stays() -> None:
    assert problems(read_changes, {"kind": "chat"}, "webhook") == [("#/kind", "read_only")]


def test_the_url_is_in_no_representation() -> None:
    assert "hooks.example.com/" not in repr(read_new(body()))
