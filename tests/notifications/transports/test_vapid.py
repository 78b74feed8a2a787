"""This server's key towards push services."""

from __future__ import annotations

import pytest
from django.conf import settings

from launcher.local_state import ensure_secrets
from notifications.transports.vapid import authorization, public_key
from tests.support.push_sink import decoded, verified_claims


@pytest.mark.usefixtures("vapid")
def test_the_header_is_signed_with_the_key_that_browsers_know() -> None:
    claims = verified_claims(authorization("https://push.example.com"))

    assert claims["aud"] == "https://push.example.com"
    assert claims["key"] == public_key()


def test_a_generated_key_is_usable(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ensure_secrets(tmp_path)["vapid_private_key"]
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", key)

    assert len(decoded(public_key())) == 65
    assert verified_claims(authorization("https://push.example.com"))["key"] == public_key()


def test_without_a_key_there_is_no_public_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "")

    assert public_key() == ""
