"""What goes over the wire is told by tests of sending; here is what stops a parcel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from notifications.event_webhooks.urls import parse_receiver_url
from notifications.transports import event_webhook
from notifications.transports.event_webhook import Parcel, Receipt, send_parcels
from shared import database_clock
from shared.ids import new_id
from tests.notifications.event_webhooks.receivers import allow_loopback, closed_url
from tests.support.http_receiver import HttpReceiver, http_receiver

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unread_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each pass begin as that of a process which has not asked the database for long."""
    monkeypatch.setattr(database_clock, "_measured", None)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpReceiver]:
    allow_loopback(monkeypatch)
    with http_receiver() as running:
        yield running


def parcel(url: str, *names: str) -> Parcel:
    return Parcel(
        new_id(), new_id(), parse_receiver_url(url), [b"x" * 32], [{"id": name} for name in names]
    )


def test_parcels_are_sent_beside_each_other_and_each_in_order(receiver: HttpReceiver) -> None:
    closed = parcel(closed_url(), "c")

    first, second = send_parcels([parcel(receiver.url, "a", "b"), closed])

    assert first == Receipt(2, 200)
    assert (second.taken, second.status) == (0, None)
    assert second.error.startswith("connection_refused")
    assert [one.headers["webhook-id"] for one in receiver.requests] == ["a", "b"]


def test_a_refusal_ends_the_parcel_and_tells_how_long_to_wait(receiver: HttpReceiver) -> None:
    receiver.status, receiver.headers = 429, {"Retry-After": "30"}

    [receipt] = send_parcels([parcel(receiver.url, "a", "b")])

    assert receipt == Receipt(0, 429, "HTTP 429", 30.0)
    assert len(receiver.requests) == 1


def test_a_redirect_is_not_followed(receiver: HttpReceiver) -> None:
    receiver.status, receiver.headers = 307, {"Location": "http://10.0.0.7/"}

    [receipt] = send_parcels([parcel(receiver.url, "a")])

    assert receipt == Receipt(0, 307, "HTTP 307")


def test_no_event_is_begun_when_the_time_of_the_pass_is_over(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_webhook, "_BEGIN_WITHIN_SECONDS", -1.0)

    assert send_parcels([parcel(receiver.url, "a")]) == [Receipt(0, None)]
    assert receiver.requests == []


def test_an_address_that_is_not_public_is_not_called() -> None:
    [receipt] = send_parcels([parcel("http://localhost:8099/", "a")])

    assert receipt.error.startswith("address_forbidden")


def test_an_error_at_one_receiver_does_not_end_the_calls_to_others(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    request = event_webhook._request

    def fail_for_one(one: Parcel, document: dict[str, Any], now: int) -> Any:
        if document["id"] == "broken":
            raise RuntimeError("A fault of ours.")
        return request(one, document, now)

    monkeypatch.setattr(event_webhook, "_request", fail_for_one)

    broken, other = send_parcels([parcel(receiver.url, "a", "broken"), parcel(receiver.url, "b")])

    assert broken == Receipt(1, None, "internal: The event could not be sent.")
    assert other == Receipt(1, 200)
    [line] = [one for one in caplog.records if one.msg == "event_webhook.crashed"]
    assert line.exc_info is not None
