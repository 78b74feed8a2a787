"""What is kept of an answer: its beginning, without the secrets of the channel's URL."""

from __future__ import annotations

import pytest

from delivery.errors import DeliveryError
from delivery.http_messages import Response
from notifications.transports.answers import (
    answer_of,
    refusal_of,
    unreached,
    without_parts_of,
)


def response(status: int, body: bytes = b"", **headers: str) -> Response:
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Response(status, named, body, False, {}, "127.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pa55word@hooks.example.com/one/s3cretpart?sig=s1gnature",
        "slack://pa55word/s3cretpart/s1gnature",
    ],
)
def test_every_part_of_the_url_that_may_be_a_token_is_masked(url: str) -> None:
    said = without_parts_of(url, "no pa55word, s3cretpart or s1gnature here")

    assert said == "no [redacted], [redacted] or [redacted] here"


def test_a_token_is_masked_as_it_is_written_and_decoded() -> None:
    said = without_parts_of("slack://bot:p%40ss%2Fw0rd@host/x", "p%40ss%2Fw0rd and p@ss/w0rd")

    assert "w0rd" not in said
    assert "p@ss" not in said


def test_the_host_of_a_webhook_is_no_secret() -> None:
    assert "hooks.example.com" in without_parts_of(
        "https://hooks.example.com/x", "hooks.example.com says no"
    )


def test_the_beginning_of_an_answer_is_kept() -> None:
    answer = answer_of(response(200, b"x" * 500), "https://h.example.com/")

    assert (answer.status, len(answer.text)) == (200, 200)


@pytest.mark.parametrize(
    ("status", "permanent"), [(400, True), (404, True), (408, False), (429, False), (503, False)]
)
def test_servers_that_fail_are_tried_again_and_refusals_are_not(
    status: int, permanent: bool
) -> None:
    answered = response(status, b"no", retry_after="120")

    error = refusal_of(answer_of(answered, "https://h.example.com/"), answered)

    assert error.permanent is permanent
    assert error.retry_after == (None if permanent else 120.0)
    assert error.message == f"The channel answered HTTP {status}. It said: no"


def test_an_address_that_may_not_be_called_is_not_tried_again() -> None:
    assert unreached(DeliveryError("address_forbidden", "no")).permanent
    assert not unreached(DeliveryError("connection_refused", "no")).permanent
