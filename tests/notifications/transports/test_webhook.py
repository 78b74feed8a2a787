"""The real bytes of a notice to a program, and where none may go."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest

from notifications.transports.errors import TransportError
from notifications.transports.webhook import send_webhook
from tests.support.alert_channels import allow_loopback
from tests.support.http_receiver import http_receiver

SECRET = b"k" * 32


def send(url: str) -> object:
    return send_webhook(
        url, {"event": "opened"}, message_id="m1", timestamp=1_700_000_000, secrets=[SECRET]
    )


def test_a_notice_is_signed_as_standard_webhooks_describes(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        send(receiver.url)

    [got] = receiver.requests
    assert (got.method, json.loads(got.body)) == ("POST", {"event": "opened"})
    signed = b"m1.1700000000." + got.body
    wanted = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{wanted}"
    assert got.headers["webhook-id"] == "m1"
    assert got.headers["content-type"] == "application/json"


def test_a_redirect_is_a_refusal_and_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        receiver.status, receiver.headers = 302, {"Location": receiver.url}
        with pytest.raises(TransportError) as caught:
            send(receiver.url)

    assert len(receiver.requests) == 1
    assert caught.value.permanent
    assert caught.value.answer is not None
    assert caught.value.answer.status == 302


def test_a_private_address_is_never_called() -> None:
    with http_receiver() as receiver, pytest.raises(TransportError) as caught:
        send(receiver.url)

    assert receiver.requests == []
    assert caught.value.permanent


def test_a_name_that_leads_to_a_private_address_is_never_called() -> None:
    with http_receiver() as receiver, pytest.raises(TransportError) as caught:
        send(f"http://localhost:{receiver.port}/hook")

    assert receiver.requests == []
    assert caught.value.permanent
