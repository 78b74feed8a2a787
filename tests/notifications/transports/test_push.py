"""The real bytes of a push, opened by a browser's keys; and where none may go."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from notifications.transports.errors import TransportError
from notifications.transports.push import (
    PushMessage,
    SubscriptionGone,
    check_endpoint,
    send_push,
)
from notifications.transports.vapid import public_key
from shared.addresses import UrlError
from tests.support.push_sink import PushSink, push_service

pytestmark = pytest.mark.usefixtures("vapid")
MESSAGE = PushMessage(
    title="[failed] nightly-invoice",
    body="No attempt is left.",
    url="https://punctual.example/executions/1",
    topic="a" * 32,
    urgent=True,
)


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[PushSink]:
    allow(monkeypatch, "127.0.0.0/8")
    with push_service(PushSink()) as running:
        yield running


def allow(monkeypatch: pytest.MonkeyPatch, *networks: str) -> None:
    knobs = replace(settings.PUNCTUAL, webhook_allowed_networks=networks)
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)


def test_a_push_is_encrypted_for_the_browser_and_signed_by_this_server(sink: PushSink) -> None:
    send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)

    assert sink.opened == [
        {
            "title": MESSAGE.title,
            "body": MESSAGE.body,
            "url": MESSAGE.url,
            "tag": MESSAGE.topic,
        }
    ]
    origin = urlsplit(sink.url)
    assert sink.claims[0]["aud"] == f"http://{origin.netloc}"
    assert sink.claims[0]["sub"] == "mailto:punctual@localhost"
    assert sink.claims[0]["key"] == public_key()
    headers = sink.headers[0]
    assert (headers["ttl"], headers["urgency"]) == ("86400", "high")
    assert headers["topic"] == MESSAGE.topic


def test_the_systems_authorities_are_not_read_for_each_push(
    sink: PushSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)
    monkeypatch.delattr(ssl, "create_default_context")

    send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)

    assert len(sink.opened) == 2


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_has_left_is_said_to_be_gone(sink: PushSink, status: int) -> None:
    sink.status = status

    with pytest.raises(SubscriptionGone):
        send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)


@pytest.mark.parametrize(
    ("status", "permanent"), [(400, True), (403, True), (413, True), (429, False), (500, False)]
)
def test_a_push_service_that_is_busy_is_asked_again(
    sink: PushSink, status: int, permanent: bool
) -> None:
    sink.status = status

    with pytest.raises(TransportError) as caught:
        send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)

    assert caught.value.permanent is permanent


def test_an_endpoint_inside_is_not_called_even_when_it_was_stored(
    sink: PushSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch)

    with pytest.raises(TransportError) as caught:
        send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)

    assert caught.value.permanent
    assert sink.headers == []


def test_a_name_that_leads_inside_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch)
    keys = PushSink().keys

    with pytest.raises(TransportError) as caught:
        send_push("https://localhost/push", keys["p256dh"], keys["auth"], MESSAGE)

    assert caught.value.permanent


def test_keys_that_are_none_are_refused_for_good(sink: PushSink) -> None:
    with pytest.raises(TransportError) as caught:
        send_push(sink.url, "AAAA", "AAAA", MESSAGE)

    assert caught.value.permanent


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.com/1",
        "https://10.0.0.1/1",
        "https://169.254.169.254/latest",
        "https://user:pass@push.example.com/1",
        "ftp://push.example.com/1",
    ],
)
def test_an_endpoint_must_be_https_and_public(endpoint: str) -> None:
    with pytest.raises(UrlError):
        check_endpoint(endpoint)


def test_without_a_key_of_ours_nothing_is_pushed_yet(
    sink: PushSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "")

    with pytest.raises(TransportError) as caught:
        send_push(sink.url, sink.keys["p256dh"], sink.keys["auth"], MESSAGE)

    assert not caught.value.permanent
