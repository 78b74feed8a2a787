from __future__ import annotations

import asyncio

import pytest

from bench.peers.plan import body
from bench.peers.receiver import (
    Arrivals,
    Receiver,
    answer_of,
    body_length,
    header,
    method_and_path,
    wants_close,
)
from bench.peers.target import parse_arrivals

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Written(asyncio.Transport):
    """Keeps what a connection writes."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += bytes(data)

    def close(self) -> None:
        self.closed = True


def connect() -> tuple[Arrivals, Receiver, Written]:
    arrivals, written = Arrivals(), Written()
    receiver = Receiver(arrivals)
    receiver.connection_made(written)
    return arrivals, receiver, written


def hook(number: int, *headers: str) -> bytes:
    text = body(number)
    lines = [f"POST /hook/{number} HTTP/1.1", "Host: a", *headers, f"Content-Length: {len(text)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()


def noted(arrivals: Arrivals) -> list[int]:
    return [number for number, _ in parse_arrivals(arrivals.lines().decode())]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 577, 10_000])
def test_requests_are_found_in_pieces_of_any_size(size: int):
    arrivals, receiver, written = connect()
    sent = b"".join(hook(number) for number in range(5))

    for begin in range(0, len(sent), size):
        receiver.data_received(sent[begin : begin + size])

    assert noted(arrivals) == [0, 1, 2, 3, 4]
    assert written.data == OK * 5
    assert not written.closed


def test_a_request_is_noted_when_its_body_is_complete_and_not_before():
    arrivals, receiver, written = connect()
    sent = hook(7)

    receiver.data_received(sent[:-1])
    assert not written.data
    assert arrivals.count == 0

    receiver.data_received(sent[-1:])
    assert written.data == OK
    assert noted(arrivals) == [7]


def test_pipelined_requests_are_answered_with_one_write():
    arrivals, receiver, written = connect()

    receiver.data_received(hook(1) + hook(2) + hook(3)[:20])
    assert written.data == OK * 2

    receiver.data_received(hook(3)[20:])
    assert noted(arrivals) == [1, 2, 3]


def test_a_call_that_comes_twice_counts_once_and_is_listed_twice():
    arrivals, receiver, _ = connect()

    receiver.data_received(hook(1) + hook(1))

    assert arrivals.count == 1
    assert noted(arrivals) == [1, 1]


def test_the_times_of_arrival_never_go_back():
    arrivals, receiver, _ = connect()

    receiver.data_received(hook(1) + hook(2))

    moments = [moment for _, moment in parse_arrivals(arrivals.lines().decode())]
    assert moments == sorted(moments)


def test_count_arrivals_and_reset_are_asked_over_the_same_connection():
    arrivals, receiver, written = connect()
    receiver.data_received(hook(4))
    listed = arrivals.lines()
    written.data = b""

    receiver.data_received(b"GET /count HTTP/1.1\r\n\r\nGET /arrivals HTTP/1.1\r\n\r\n")
    receiver.data_received(b"POST /reset HTTP/1.1\r\n\r\nGET /count HTTP/1.1\r\n\r\n")

    assert written.data == (
        answer_of(200, b"1") + answer_of(200, listed) + OK + answer_of(200, b"0")
    )
    assert noted(arrivals) == []


@pytest.mark.parametrize("path", ["/", "/hook/", "/hook/x", "/hook/1x", "/hook/-1"])
def test_anything_else_is_not_found(path: str):
    arrivals, receiver, written = connect()

    receiver.data_received(f"POST {path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n".encode())

    assert written.data.startswith(b"HTTP/1.1 404 ")
    assert arrivals.count == 0


def test_a_body_of_another_size_than_the_others_send_is_refused():
    arrivals, receiver, written = connect()

    receiver.data_received(b"POST /hook/1 HTTP/1.1\r\nContent-Length: 4\r\n\r\n1234")

    assert written.data.startswith(b"HTTP/1.1 422 ")
    assert arrivals.count == 0


def test_a_caller_that_wants_to_close_is_answered_first():
    _, receiver, written = connect()

    receiver.data_received(hook(1, "Connection: close"))

    assert written.data == OK
    assert written.closed


def test_a_body_in_chunks_is_refused_and_the_connection_ends():
    arrivals, receiver, written = connect()

    receiver.data_received(b"POST /hook/1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")

    assert written.data.startswith(b"HTTP/1.1 411 ")
    assert written.closed
    assert arrivals.count == 0


def test_a_head_without_an_end_is_not_kept_for_ever():
    _, receiver, written = connect()

    receiver.data_received(b"x" * 70_000)

    assert written.closed


def test_headers_are_found_whatever_comes_before_them():
    lower = b"post / http/1.1\r\nx-content-length: 9\r\ncontent-length:  12 \r\n"

    assert header(lower, b"content-length") == b"12"
    assert body_length(lower) == 12
    assert body_length(b"get / http/1.1\r\n") == 0
    assert not wants_close(b"get / http/1.1\r\nconnection: keep-alive\r\n")


def test_a_first_line_without_a_path_is_no_request():
    assert method_and_path(b"POST /a HTTP/1.1\r\n") == (b"POST", b"/a")
    assert method_and_path(b"nonsense\r\n") == (b"", b"")
