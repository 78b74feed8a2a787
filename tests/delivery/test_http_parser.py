from __future__ import annotations

import pytest

from delivery.errors import DeliveryError
from delivery.http_parser import ResponseReader

OK = b"HTTP/1.1 200 OK\r\n"


def _reader(capture_bytes=100, *, expects_body=True):
    reader = ResponseReader()
    reader.begin(capture_bytes, expects_body=expects_body)
    return reader


def _feed_in_pieces(reader, data, size):
    for at in range(0, len(data), size):
        assert not reader.feed(data[at : at + size])


ANSWERS = [
    (OK + b"Content-Length: 2\r\nX-A: b \t\r\n\r\nhi", 200, b"hi", True),
    (OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\nT: x\r\n\r\n",
     200, b"hi", True),
    (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, b"", True),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, b"", True),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" + OK
     + b"Content-Length: 2\r\n\r\nhi", 200, b"hi", True),
    (b"HTTP/1.0 500 Oops\r\nContent-Length: 2\r\n\r\nhi", 500, b"hi", False),
    (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi", False),
    (OK + b"Content-Length: 2\r\n\r\nhi" + OK + b"Content-Length: 0\r\n\r\n", 200, b"hi", False),
    (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi" + OK, 200, b"hi", False),
    (OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", 200, b"\x1f\x8b", True),
]  # fmt: skip


@pytest.mark.parametrize(("data", "status", "body", "reusable"), ANSWERS)
def test_answer_is_read_in_one_piece(data, status, body, reusable):
    reader = _reader()

    assert reader.feed(data)
    assert (reader.status, reader.body, reader.reusable) == (status, body, reusable)
    assert not reader.truncated


@pytest.mark.parametrize(("data", "status", "body", "reusable"), ANSWERS)
def test_answer_is_read_byte_by_byte(data, status, body, reusable):
    reader = _reader()

    assert any(reader.feed(data[at : at + 1]) for at in range(len(data)))
    assert (reader.status, reader.body) == (status, body)


def test_headers_are_kept_without_trailers_and_hints():
    reader = _reader()

    reader.feed(
        b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" + OK
        + b"X-A: \xfc \t\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: no\r\n\r\n"
    )  # fmt: skip

    assert reader.headers == [("X-A", "ü"), ("Transfer-Encoding", "chunked")]


IRREGULAR = [
    (OK + b"X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi", "b c"),
    (OK + b"X-A : b\r\nContent-Length: 2\r\n\r\nhi", "b"),
    (OK + b"X-A: b\nContent-Length: 2\n\nhi", "b"),
    (OK + b"X-A: b\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "b"),
    (b"HTTP/1.3 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi", "b"),
    (OK + b"X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2 ; a = b\r\nhi\r\n0\r\n\r\n", "b"),
    (OK + b"X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nContent-Length: 2\r\n\r\n",
     "b"),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
@pytest.mark.parametrize(("data", "value"), IRREGULAR)
def test_what_llhttp_refuses_and_a_client_may_read_is_read(data, value, size):
    reader = _reader()

    assert any(reader.feed(data[at : at + size]) for at in range(0, len(data), size))
    assert (reader.status, reader.body, reader.truncated) == (200, b"hi", False)
    assert reader.headers[0] == ("X-A", value)


@pytest.mark.parametrize(("data", "value"), IRREGULAR)
def test_a_connection_is_not_used_again_after_an_irregular_answer(data, value):
    reader = _reader()

    assert reader.feed(data)
    assert not reader.reusable


def test_an_irregular_answer_is_cut_at_the_same_limit():
    reader = _reader(capture_bytes=5)

    assert reader.feed(OK + b"X : y\r\nContent-Length: 1000\r\n\r\n0123456789")
    assert (reader.body, reader.truncated) == (b"01234", True)


def test_an_irregular_answer_may_end_with_its_connection():
    reader = _reader()

    assert not reader.feed(OK + b"X : y\r\n\r\nhi")
    assert reader.finish_at_eof()
    assert reader.body == b"hi"


def test_no_more_is_kept_to_be_read_again_than_of_an_answer():
    reader = _reader(capture_bytes=1000)
    reader.feed(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    assert reader._kept

    while reader._kept is not None:
        assert not reader.feed(b"1;" + b"x" * 1000 + b"\r\ny\r\n")

    assert reader._received <= 66 * 1024 + 2000


@pytest.mark.parametrize("framing", [b"Content-Length: 50", b"X-Until: eof"])
def test_a_body_that_llhttp_cannot_refuse_is_not_kept_twice(framing):
    reader = _reader()

    assert not reader.feed(OK + framing + b"\r\n\r\n0123456789")
    assert reader._kept is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(b"gr\xc3\xb6\xc3\x9fer", "größer"), (b"gr\xf6\xdfer", "größer"), (b"\xc3", "Ã")],
)
def test_a_header_is_read_as_utf_8_where_it_is(value, text):
    reader = _reader()

    assert reader.feed(OK + b"X-B: \xff\r\nX-A: " + value + b"\r\nContent-Length: 0\r\n\r\n")
    assert reader.headers == [("X-B", "ÿ"), ("X-A", text), ("Content-Length", "0")]


@pytest.mark.parametrize(
    "data",
    [
        *(b"<html>", b"\r\n" + OK, b"SSH-2.0-x\r\n", b"\x16\x03\x01", b"RTSP/1.0 200 OK\r\n\r\n"),
        *(b"HTTP/0.9 200 OK\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/3.7 200 OK\r\n\r\n"),
        *(b"HTTP/1.1 099 x\r\n\r\n", b"HTTP/1.1 99 x\r\n\r\n", b"HTTP/1.1 1000 x\r\n\r\n"),
        *(b"HTTP/1.1 abc x\r\n\r\n", b"HTTP/1.1 2000 x\r\n\r\n", b"HTTP/1.1 101 x\r\n\r\n"),
        b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 99999999999999999999999\r\n\r\n",
        OK + b"Content-Length: 0x10\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n",
        OK + b" folded\r\n\r\n",
        OK + b"X A: b\r\n\r\n",
        OK + b"X-A: \0\r\n\r\n",
        OK + b"X-A: " + b"a" * 70_000,
        OK + b"X-A: " + b"a" * 70_000 + b"\r\nContent-Length: 0\r\n\r\n",
        OK + b"X: y\r\n" * 300 + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 101 + OK + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\n\n" * 101 + OK + b"Content-Length: 0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"x" * 200_000,
    ],
)
@pytest.mark.parametrize("piece", [1_000_000, 977])
def test_broken_answer_is_invalid(data, piece):
    reader = _reader()

    with pytest.raises(DeliveryError) as caught:
        _feed_in_pieces(reader, data, piece)

    assert caught.value.code == "response_invalid"


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 1000", b"Transfer-Encoding: chunked", b"X-Until: eof"]
)
def test_body_beyond_the_capture_limit_is_cut(framing):
    reader = _reader(capture_bytes=5)

    chunk = b"a\r\n" if b"chunked" in framing else b""
    assert reader.feed(OK + framing + b"\r\n\r\n" + chunk + b"0123456789")

    assert (reader.body, reader.truncated, reader.reusable) == (b"01234", True, False)


def test_body_of_exactly_the_capture_limit_is_whole():
    reader = _reader(capture_bytes=5)

    assert reader.feed(OK + b"Content-Length: 5\r\n\r\n01234")

    assert (reader.body, reader.truncated, reader.reusable) == (b"01234", False, True)


def test_head_ends_with_its_headers():
    reader = _reader(expects_body=False)

    assert reader.feed(OK + b"Content-Length: 1000\r\n\r\n")
    assert not reader.reusable


@pytest.mark.parametrize(
    ("data", "complete"),
    [
        (OK + b"\r\nhalf", True),
        (b"HTTP/1.0 200 OK\r\n\r\n", True),
        (OK + b"Transfer-Encoding: gzip\r\n\r\nx", True),
        (OK + b"Content-Length: 5\r\n\r\nhalf", False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", False),
        (OK + b"Transfer-Encoding: gzip, CHUNKED\r\n\r\n", False),
        (OK + b"X-A: b\r\n", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n", False),
    ],
)
def test_end_of_the_connection_completes_only_a_body_without_length(data, complete):
    reader = _reader()
    assert not reader.feed(data)

    assert reader.finish_at_eof() is complete


def test_reader_is_clean_for_the_next_answer():
    reader = _reader()
    reader.feed(OK + b"X-A: b\r\nContent-Length: 2\r\n\r\nhi")

    reader.begin(100, expects_body=True)
    reader.feed(b"HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nbye")

    assert (reader.status, reader.body) == (503, b"bye")
    assert reader.headers == [("Content-Length", "3")]
