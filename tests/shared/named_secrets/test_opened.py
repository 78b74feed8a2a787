"""The secrets of one attempt: only named ones, only where they may go, and never in an answer."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from shared.named_secrets.bindings import Binding
from shared.named_secrets.opened import NO_SECRETS, Secrets, SecretUnavailable, secrets_of
from shared.named_secrets.sealed import NamedValue, seal_secret

BOUND = Binding(("api.example.com",), ("deploy",))
SECRETS = Secrets({"token": NamedValue("s3cret-value", BOUND)}, ["token"])
TARGET: dict[str, Any] = {
    "kind": "webhook",
    "url": "https://api.example.com/x",
    "auth": {"type": "bearer", "token": "{{ secrets.token }}"},
    "headers": {"X-A": "k={{ secrets.token }}", "X-B": "plain"},
}


def test_values_take_the_place_of_references_and_the_target_stays_as_it_was():
    filled = SECRETS.fill_target(TARGET, ("auth", "headers"))

    assert filled["auth"]["token"] == "s3cret-value"
    assert filled["headers"] == {"X-A": "k=s3cret-value", "X-B": "plain"}
    assert TARGET["headers"]["X-A"] == "k={{ secrets.token }}"


def test_a_secret_that_is_not_named_has_no_value():
    known = Secrets({"token": NamedValue("v", BOUND), "other": NamedValue("w", BOUND)}, ["token"])

    with pytest.raises(SecretUnavailable, match="other"):
        known.fill("{{ secrets.other }}")


def test_a_secret_that_is_gone_is_refused_before_anything_is_sent():
    with pytest.raises(SecretUnavailable, match="does not exist"):
        Secrets({}, ["token"]).require_target(TARGET)


def test_a_target_that_goes_elsewhere_gets_no_secret():
    with pytest.raises(SecretUnavailable, match=r"evil\.example"):
        SECRETS.require_target({**TARGET, "url": "https://evil.example/"})
    with pytest.raises(SecretUnavailable):
        SECRETS.require_url("https://evil.example/")
    SECRETS.require_target(TARGET)
    SECRETS.require_url(TARGET["url"])


@pytest.mark.parametrize("value", ["a\nb", "ä", "a\tb"])
def test_a_value_that_no_header_can_carry_is_refused_in_one(value):
    odd = Secrets({"token": NamedValue(value, BOUND)}, ["token"])

    with pytest.raises(SecretUnavailable, match="header"):
        odd.fill_target(TARGET, ("headers",))
    assert odd.fill_target({"environment": {"A": "{{ secrets.token }}"}}, ("environment",))


def test_what_a_receiver_repeats_is_masked():
    assert SECRETS.mask(b"got s3cret-value!") == b"got [redacted]!"
    assert SECRETS.mask_text("got s3cret-value!") == "got [redacted]!"


def test_no_message_holds_a_value():
    with pytest.raises(SecretUnavailable) as refused:
        SECRETS.require_url("https://evil.example/?s3cret-value")
    assert "s3cret" not in refused.value.message


def test_only_the_secrets_that_a_target_names_are_opened():
    sealed = base64.b64encode(seal_secret("t", "token", "v", BOUND)).decode()
    sent = {"t": {"token": sealed, "other": "no base64"}}

    assert secrets_of({"named_secrets": ["token"]}, sent, "t").value_of("token") == "v"
    assert secrets_of({}, sent, "t") is NO_SECRETS
    with pytest.raises(SecretUnavailable):
        secrets_of({"named_secrets": ["token"]}, sent, "u").value_of("token")
