"""Calls of a service leave by our client or not at all."""

from __future__ import annotations

import pytest
import requests

from notifications.transports.guarded_requests import (
    MOST_CALLS,
    CallRefused,
    GuardedRequests,
    exchange,
)
from tests.support.alert_channels import allow_loopback
from tests.support.http_receiver import http_receiver

CLIENT = GuardedRequests()


def test_a_call_is_made_as_the_library_would_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with http_receiver() as receiver, exchange() as made:
        receiver.status, receiver.body = 201, b'{"a": 1}'
        answer = CLIENT.post(
            receiver.url,
            params={"q": "a b"},
            data={"x": "ä"},
            headers={"X-One": "1"},
            auth=("user", "pass"),
            timeout=(1, 1),
            verify=False,
            allow_redirects=True,
        )

    [got] = receiver.requests
    assert (got.path, got.body) == ("/hook?q=a+b", b"x=%C3%A4")
    assert got.headers["authorization"] == "Basic dXNlcjpwYXNz"
    assert got.headers["x-one"] == "1"
    assert (answer.status_code, answer.json(), answer.text) == (201, {"a": 1}, '{"a": 1}')
    assert made.response is not None
    assert made.calls == 1


def test_an_answer_that_repeats_a_long_message_is_read_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver, exchange():
        receiver.body = b'{"text": "%b", "ok": true}' % (b"x" * 9000)
        answer = CLIENT.post(receiver.url)

    assert answer.json()["ok"] is True


def test_a_private_address_is_not_called() -> None:
    unreached = pytest.raises(requests.RequestException)
    with http_receiver() as receiver, exchange() as made, unreached:
        CLIENT.get(receiver.url)

    assert receiver.requests == []
    assert made.error is not None
    assert made.error.permanent


def test_no_call_is_made_outside_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver, pytest.raises(CallRefused):
        CLIENT.get(receiver.url)

    assert receiver.requests == []


def test_calls_of_a_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver, exchange():
        for verb in (CLIENT.get, CLIENT.put, CLIENT.post, CLIENT.post)[:MOST_CALLS]:
            verb(receiver.url)
        with pytest.raises(CallRefused):
            CLIENT.get(receiver.url)

    assert len(receiver.requests) == MOST_CALLS


@pytest.mark.parametrize("option", ["files", "cookies", "proxies", "cert", "hooks"])
def test_what_a_message_does_not_need_is_refused(option: str) -> None:
    with exchange(), pytest.raises(CallRefused):
        CLIENT.post("https://example.com/", **{option: {"a": "b"}})


def test_the_rest_of_the_library_is_missing() -> None:
    for name in ("Session", "session", "adapters", "head", "patch"):
        assert not hasattr(CLIENT, name)
