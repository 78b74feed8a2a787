"""One call by a client of its own, which asks the guard and leaves nothing behind."""

from __future__ import annotations

import pytest

from delivery.errors import DeliveryError
from delivery.http_messages import Request
from delivery.one_call import call_once
from shared.addresses import AllowList, parse_target_url
from tests.support.http_receiver import http_receiver

HERE = AllowList(["127.0.0.1/32"])


def request_to(url: str) -> Request:
    return Request(
        method="GET",
        url=parse_target_url(url, HERE),
        headers=[],
        body=b"",
        connect_timeout=5,
        timeout=10,
    )


def test_the_answer_comes_back():
    with http_receiver() as receiver:
        answer = call_once(request_to(receiver.url), HERE)

    assert (answer.status, answer.body) == (200, b"ok")


def test_an_address_that_is_not_allowed_gets_no_connection():
    with http_receiver() as receiver, pytest.raises(DeliveryError) as refused:
        call_once(request_to(receiver.url), AllowList([]))

    assert refused.value.code == "address_forbidden"
    assert receiver.requests == []
