from __future__ import annotations

import asyncio

import pytest

from receiver import connection as receiver_connection
from tests.receiver.calls import (
    OWN,
    arrived,
    ask,
    request,
    running,
    send,
    tell,
    until_recorded,
)
from tests.support.waiting import until

CLOSE = request("/ok", connection="close")


async def test_pipelined_requests_are_answered_in_their_order():
    async with running() as receiver:
        answer = await send(
            receiver,
            request("/slow?ms=50") + request("/status/201") + request("/500") + CLOSE,
        )

    statuses = [part.split()[0] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"201", b"500", b"200"]


async def test_thousands_of_pipelined_requests_are_all_answered():
    async with running() as receiver:
        answer = await send(receiver, request(f"/{OWN}/ok") * 3000 + CLOSE)

        assert answer.count(b"HTTP/1.1 200 OK") == 3001
        assert (await tell(receiver, f"/requests/{OWN}?limit=1"))[1]["total"] == 3000


async def test_a_request_may_come_byte_by_byte():
    async with running() as receiver:
        data = request(f"/{OWN}/ok", "POST", b'{"a": 1}', connection="close")
        answer = await send(receiver, *(data[i : i + 1] for i in range(len(data))))

        kept = await arrived(receiver)

    assert answer.startswith(b"HTTP/1.1 200")
    assert kept[0]["body"] == '{"a": 1}'


async def test_dripped_bodies_arrive_whole():
    async with running() as receiver:
        answer = await send(receiver, request("/drip?ms=1&bytes=4", connection="close"))

    assert answer.endswith(b"\r\n\r\n....")


async def test_timeout_never_answers_but_is_recorded():
    async with running() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(request(f"/{OWN}/timeout"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        writer.close()

        kept = await arrived(receiver)

    assert kept[0]["path"] == "/timeout"
    assert kept[0]["status"] is None


async def test_a_client_that_leaves_early_leaves_nothing_behind():
    async with running() as receiver:
        _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(request(f"/{OWN}/slow?ms=60000"))
        await until_recorded(receiver, 1)
        writer.transport.abort()

        await asyncio.wait_for(receiver.unconnected.wait(), 20)

    assert receiver.connections == set()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"GET /ok HTTP/1.1\r\ncontent-length: x\r\n\r\n", b"400"),
        (b"GET /ok HTTP/1.1\r\n" + b"a: b\r\n" * 201 + b"\r\n", b"431"),
        (b"GET /ok HTTP/1.1\r\na: " + b"x" * 1_000_000, b"431"),
    ],
)
async def test_requests_that_cannot_be_used_are_refused_and_closed(data: bytes, status: bytes):
    async with running() as receiver:
        try:
            answer = await send(receiver, data)
        except ConnectionError:  # closed while more was on its way, as it should
            answer = b"HTTP/1.1 " + status

    assert answer.split()[1] == status


async def test_bodies_over_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_connection, "MAX_BODY", 100)
    async with running() as receiver:
        answer = await send(receiver, request("/ok", "POST", b"x" * 101))

    assert answer.split()[1] == b"413"


async def test_clients_that_expect_it_are_told_to_continue():
    async with running() as receiver:
        data = request("/ok", "POST", b"{}", expect="100-continue", connection="close")
        answer = await send(receiver, data)

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_huge_bodies_arrive_whole(framing: str):
    async with running() as receiver:
        target = f"/huge?bytes=200000&framing={framing}"
        answer = await send(receiver, request(target, connection="close"))

    assert answer.count(b".") >= 200_000


async def test_the_connection_serves_on_after_a_stream_with_an_end():
    async with running() as receiver:
        answer = await send(receiver, request("/huge?bytes=70000&framing=chunked") + CLOSE)

    assert answer.count(b"HTTP/1.1 200 OK") == 2


async def test_a_huge_body_is_made_only_as_fast_as_it_is_read():
    async with running() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port, limit=1024)
        writer.write(request("/huge?bytes=100000000000"))
        await reader.readuntil(b"\r\n\r\n")
        (connection,) = receiver.connections
        await asyncio.to_thread(until, lambda: connection._write_paused)

        assert connection._transport.get_write_buffer_size() < 1_000_000
        assert (await ask(receiver, "/healthz"))[0] == 200
        writer.transport.abort()
        await asyncio.wait_for(receiver.unconnected.wait(), 20)


async def test_a_head_request_gets_no_stream():
    async with running() as receiver:
        answer = await send(receiver, request("/huge?bytes=5", "HEAD", connection="close"))

    assert answer.endswith(b"Content-Length: 5\r\n\r\n")
