from __future__ import annotations

import asyncio

import orjson
import pytest
from asgiref.testing import ApplicationCommunicator

from api.protocol.body_limit import BodyLimit


async def _echo(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def _request(application=_echo, *, seconds=5.0, headers=()):
    scope = {"type": "http", "path": "/v1/x", "headers": list(headers)}
    limited = BodyLimit(application, max_bytes=10, seconds=seconds)
    return ApplicationCommunicator(limited, scope)


async def _answer(request):
    start = await request.receive_output(5)
    body = await request.receive_output(5)
    await request.wait(5)
    return start["status"], body["body"]


async def test_a_body_within_the_limit_arrives_whole():
    request = _request()
    await request.send_input({"type": "http.request", "body": b"12345", "more_body": True})
    await request.send_input({"type": "http.request", "body": b"67890"})

    assert await _answer(request) == (200, b"1234567890")


@pytest.mark.parametrize("length", [b"11", b"9" * 5000])
async def test_a_declared_length_over_the_limit_is_413_unread(length):
    status, body = await _answer(_request(headers=[(b"Content-Length", length)]))

    assert status == 413
    assert orjson.loads(body)["code"] == "too_large"
    assert orjson.loads(body)["instance"] == "/v1/x"


async def test_an_answer_before_the_body_is_read_has_its_trace():
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for headers in ([], [(b"traceparent", parent)]):
        request = _request(headers=[(b"content-length", b"11"), *headers])
        start = await request.receive_output(5)
        body = orjson.loads((await request.receive_output(5))["body"])
        await request.wait(5)

        assert dict(start["headers"])[b"x-trace-id"].decode() == body["trace_id"]
        assert len(body["trace_id"]) == 32
        assert not headers or body["trace_id"] == "0af7651916cd43dd8448eb211c80319c"


async def test_an_endless_body_is_413_as_soon_as_it_passes_the_limit():
    request = _request()
    await request.send_input({"type": "http.request", "body": b"x" * 6, "more_body": True})
    await request.send_input({"type": "http.request", "body": b"x" * 6, "more_body": True})

    assert (await _answer(request))[0] == 413


async def test_a_body_that_never_ends_is_408():
    request = _request(seconds=0.05)
    await request.send_input({"type": "http.request", "body": b"x", "more_body": True})

    assert (await _answer(request))[0] == 408


async def test_a_long_poll_after_the_body_is_not_cut_off():
    async def waits(scope, receive, send):
        await receive()
        try:
            async with asyncio.timeout(0.2):
                await receive()
        except TimeoutError:
            await _echo(scope, _nothing, send)

    request = _request(waits, seconds=0.05)
    await request.send_input({"type": "http.request", "body": b"x"})

    assert await _answer(request) == (200, b"")


async def test_websockets_pass_untouched():
    seen = []

    async def application(scope, receive, send):
        seen.append(receive)

    async def receive():
        return {}

    async def send(message):
        return None

    await BodyLimit(application)({"type": "websocket"}, receive, send)

    assert seen == [receive]


async def _nothing():
    return {"type": "http.request"}
