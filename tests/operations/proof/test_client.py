from __future__ import annotations

import asyncio

import pytest

from operations.proof.client import Answer, ApiClient, ApiError
from tests.operations.proof.fake_product import fake_product


async def test_calls_carry_key_and_idempotency_key_on_one_kept_connection():
    async with fake_product() as product, ApiClient(product.url, "secret") as client:
        for _ in range(3):
            await client.expect(200, "GET", "/v1/executions?limit=1", key="once")

        assert len(client._idle) == 1

    headers = product.calls[0][2]
    assert headers["authorization"] == "bearer secret"
    assert headers["idempotency-key"] == "once"


async def test_a_call_that_may_be_repeated_is_repeated_when_asked_to():
    refusals = [
        (503, "retry-after: 0\r\n"),
        (429, "retry-after: 0\r\n"),
        (409, "retry-after: 0\r\n"),
    ]
    async with (
        fake_product(refusals=refusals) as product,
        ApiClient(product.url, "secret") as client,
    ):
        answer = await client.call("GET", "/v1/executions")

    assert answer.status == 200
    assert len(product.calls) == 4
    assert answer.sent_ns < answer.answered_ns


@pytest.mark.parametrize(
    ("method", "refusal"), [("POST", (503, "retry-after: 0\r\n")), ("GET", (409, ""))]
)
async def test_other_calls_are_made_once(method: str, refusal: tuple[int, str]):
    async with (
        fake_product(refusals=[refusal]) as product,
        ApiClient(product.url, "secret") as client,
    ):
        answer = await client.call(method, "/v1/executions")

    assert answer.status == refusal[0]
    assert len(product.calls) == 1


async def test_another_status_than_expected_is_an_error_with_the_answer():
    async with fake_product() as product, ApiClient(product.url, "secret") as client:
        with pytest.raises(ApiError, match=r"answered 404.*not_found"):
            await client.expect(200, "GET", "/v1/nothing")


def test_only_plain_http_addresses_are_accepted():
    with pytest.raises(ValueError, match="http://"):
        ApiClient("https://example.org", "secret")


async def test_a_cancellation_that_meets_an_answer_is_not_lost(monkeypatch: pytest.MonkeyPatch):
    made = 0

    async def answered(*_: object) -> Answer:
        nonlocal made
        made += 1
        assert made == 1, "called again although it was cancelled"
        # Arrives between the answer and whoever waits for it.
        asyncio.get_running_loop().call_soon(asking.cancel)
        return Answer(status=200)

    async def ask_for_ever() -> None:
        while True:
            await client.call("GET", "/v1/tasks")
            await asyncio.sleep(0)

    async with ApiClient("http://127.0.0.1:1", "key") as client:
        monkeypatch.setattr(client, "_exchange", answered)
        asking = asyncio.create_task(ask_for_ever())
        with pytest.raises(asyncio.CancelledError):
            await asking
