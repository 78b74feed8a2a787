from __future__ import annotations

import asyncio
import socket
import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.errors import DeliveryError
from delivery.http_connection import Connection, milliseconds

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Transport:
    """Records what is written; unsent bytes are set by the test."""

    def __init__(self):
        self.written = b""
        self.unsent = 0
        self.aborted = False
        self.near, self.far = socket.socketpair()

    def get_extra_info(self, name):
        return self.near

    def write(self, data):
        self.written += data

    def get_write_buffer_size(self):
        return self.unsent

    def is_closing(self):
        return self.aborted

    def abort(self):
        self.aborted = True


@pytest.fixture
def transport():
    transport = Transport()
    yield transport
    transport.near.close()
    transport.far.close()


@pytest.fixture
async def connection(transport):
    connection = Connection(asyncio.get_running_loop(), ("http", "a", 80, ""), "192.0.2.1")
    connection.connection_made(transport)
    yield connection
    connection.close()


def _exchange(connection, seconds=5.0):
    deadline = asyncio.get_running_loop().time() + seconds
    return connection.exchange(b"GET", 100, expects_body=True, deadline=deadline)


async def test_exchange_ends_with_the_answer(connection, transport):
    waiter = _exchange(connection)
    connection.data_received(ANSWER)
    reader = await waiter

    assert transport.written == b"GET"
    assert (reader.status, reader.body, connection.usable) == (200, b"hi", True)
    assert connection.first_byte_at > 0


async def test_connection_serves_several_exchanges_with_one_timer(connection):
    timers = set()
    for _ in range(3):
        waiter = _exchange(connection)
        timers.add(connection._timer)
        connection.data_received(ANSWER)
        await waiter

    assert timers == {connection._timer}
    assert not connection._timer.cancelled()


async def test_timer_of_a_long_exchange_is_replaced_by_a_nearer_deadline(connection):
    waiter = _exchange(connection, 3600)
    connection.data_received(ANSWER)
    await waiter

    with pytest.raises(DeliveryError) as caught:
        await _exchange(connection, 0.05)

    assert caught.value.code == "timeout_total"


async def test_timer_of_an_earlier_exchange_does_not_end_a_later_one(connection):
    waiter = _exchange(connection, 0.02)
    connection.data_received(ANSWER)
    await waiter
    waiter = _exchange(connection, 3600)
    first = connection._timer

    rearmed = asyncio.Event()
    asyncio.get_running_loop().call_at(first.when() + 0.005, rearmed.set)
    await rearmed.wait()

    assert not waiter.done()
    assert connection._timer is not first


async def test_timer_that_finds_the_connection_idle_does_nothing(connection):
    waiter = _exchange(connection, 0.01)
    connection.data_received(ANSWER)
    await waiter

    fired = asyncio.Event()
    asyncio.get_running_loop().call_at(connection._timer.when() + 0.005, fired.set)
    await fired.wait()

    assert connection.usable
    assert connection._timer is None


def _linger(transport):
    raw = transport.near.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
    return struct.unpack("ii", raw)


async def test_request_that_was_given_up_is_not_sent_later_by_the_kernel(connection, transport):
    with pytest.raises(DeliveryError):
        await _exchange(connection, 0.02)

    assert _linger(transport) == (1, 0)


async def test_request_that_its_caller_leaves_is_not_sent_later_by_the_kernel(
    connection, transport
):
    _exchange(connection)
    connection.close()

    assert _linger(transport) == (1, 0)


async def test_connection_that_is_done_says_goodbye_in_order(connection, transport):
    waiter = _exchange(connection)
    connection.data_received(ANSWER)
    await waiter
    connection.close()

    assert _linger(transport)[0] == 0


async def test_silence_until_the_deadline_closes_the_connection(connection, transport):
    with pytest.raises(DeliveryError) as caught:
        await _exchange(connection, 0.02)

    assert caught.value.code == "timeout_total"
    assert transport.aborted
    assert not connection.usable


async def test_bytes_that_nobody_asked_for_close_the_connection(connection, transport):
    connection.data_received(ANSWER)

    assert transport.aborted
    assert not connection.usable


@pytest.mark.parametrize("end", [False, True])
async def test_connection_with_unread_news_is_not_quiet(connection, transport, end):
    assert connection.is_quiet()

    transport.far.close() if end else transport.far.sendall(b"HTTP")

    assert not connection.is_quiet()


async def test_end_while_idle_makes_the_connection_unusable(connection):
    connection.eof_received()

    assert not connection.usable


@pytest.mark.parametrize(
    ("received", "error", "code"),
    [
        *((b"", None, "connection_reset"), (b"HTTP/1.1 2", None, "response_invalid")),
        *((b"", ConnectionResetError(), "connection_reset"),),
        (b"HTTP/1.1 200 OK\r\n\r\nhalf", ConnectionResetError(), "connection_reset"),
        (ANSWER[:-1], None, "response_invalid"),
        (b"", ssl.SSLError("certificate required"), "tls_failed"),
    ],
)
async def test_exchange_that_is_cut_short_says_how(connection, received, error, code):
    waiter = _exchange(connection)
    if received:
        connection.data_received(received)
    connection.connection_lost(error)

    with pytest.raises(DeliveryError) as caught:
        await waiter
    assert caught.value.code == code


async def test_end_of_the_connection_ends_a_body_without_length(connection):
    waiter = _exchange(connection)
    connection.data_received(b"HTTP/1.1 200 OK\r\n\r\nall of it")
    connection.eof_received()

    assert (await waiter).body == b"all of it"


async def test_abandoned_exchange_is_not_answered(connection):
    waiter = _exchange(connection)
    waiter.cancel()

    connection.data_received(ANSWER)

    assert waiter.cancelled()


async def test_unsent_bytes_are_noticed(connection, transport):
    assert connection.is_drained()
    transport.unsent = 10
    assert not connection.is_drained()


async def test_closed_connection_has_no_transport(connection):
    connection.close()
    connection.close()

    with pytest.raises(ConnectionResetError):
        _ = connection.transport
    assert not connection.is_drained()


@given(st.floats(0, 1e5))
def test_a_duration_is_told_in_milliseconds_with_three_decimals(seconds):
    found = milliseconds(seconds)

    assert found == round(found, 3)
    assert abs(found - seconds * 1000) < 0.0006
