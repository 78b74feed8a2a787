from __future__ import annotations

import pytest

from delivery.errors import DeliveryError
from delivery.lenient_head import (
    CHUNKED,
    UNTIL_CLOSE,
    end_of_head,
    read_head,
    status_problem,
)

OK = b"HTTP/1.1 200 OK\r\n"


def fields(lines: bytes) -> list[tuple[bytes, bytes]]:
    return read_head(OK + lines + b"\r\n").headers


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        *((b"X-A: b\r\n", b"b"), (b"X-A:b\r\n", b"b"), (b"X-A: \t b \t\r\n", b"b")),
        *((b"X-A : b\r\n", b"b"), (b"X-A \t : b\r\n", b"b"), (b"X-A: b\n", b"b")),
        *((b"X-A: b\r\n c\r\n", b"b c"), (b"X-A: b \r\n\t  c\r\n", b"b c")),
        (b"X-A:\r\n c\r\n", b"c"),
        *((b"X-A: b\r\n \r\n c\r\n", b"b c"), (b"X-A: b\n c\n d\n", b"b c d")),
        *((b"X-A:\r\n", b""), (b"X-A: b: c\r\n", b"b: c")),
        (b"X-A: \xfc\xe2\x9c\x93\r\n", b"\xfc\xe2\x9c\x93"),
    ],
)
def test_a_line_that_a_client_may_read_is_read(lines: bytes, value: bytes):
    assert fields(lines) == [(b"X-A", value)]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        *((b"HTTP/1.1 200 OK", 200), (b"HTTP/1.1 200", 200), (b"HTTP/1.1 200 ", 200)),
        *((b"HTTP/1.0 503 Gone fishing", 503), (b"HTTP/1.9 204 x", 204), (b"HTTP/1.1 999 x", 999)),
        *((b"HTTP/1.1  200  OK", 200), (b"HTTP/1.1\t200\tOK", 200), (b"HTTP/1.1 200 \xfc", 200)),
    ],
)
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_status_line_that_a_client_may_read_is_read(line: bytes, status: int, end: bytes):
    assert read_head(line + end + end).status == status


@pytest.mark.parametrize(
    "head",
    [
        *(b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1200 OK\r\n\r\n", b"HTTP/1.1 200OK\r\n\r\n"),
        *(b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"HTTP/1.1 099 x\r\n\r\n"),
        *(b"HTTP/1.1 101 x\r\n\r\n", b"HTTP/1.1 -20 x\r\n\r\n", b"HTTP/1.1 \xb2\xb2\xb2 x\r\n\r\n"),
        *(b"HTTP/1.1 200 O\0K\r\n\r\n", b"HTTP/1.1\n200 OK\r\n\r\n", b"\r\n" + OK + b"\r\n"),
        *(OK + b" folded\r\n\r\n", OK + b"Nonsense\r\n\r\n", OK + b": b\r\n\r\n"),
        *(OK + b"X A: b\r\n\r\n", OK + b"X-\xc3\xa4: b\r\n\r\n", OK + b"X-A: a\rb\r\n\r\n"),
        *(OK + b"X-A: a\0\r\n\r\n", OK + b"X-A: \x1b[31m\r\n\r\n", OK + b"X-A: \x7f\r\n\r\n"),
        *(OK + b"X-A: a\r\n b\0\r\n\r\n", OK + b"X-A: a\r\r\n\r\n", OK + b"X\0: a\r\n\r\n"),
        *(OK + b"X: y\r\n" * 257 + b"\r\n", OK + b"X-A: a\r\n \x0bb\r\n\r\n"),
    ],
)
def test_a_head_that_is_none_is_refused(head: bytes):
    with pytest.raises(DeliveryError) as caught:
        read_head(head)

    assert caught.value.code == "response_invalid"


@pytest.mark.parametrize(
    ("lines", "framing"),
    [
        *((b"Content-Length: 5\r\n", 5), (b"content-length : 5\r\n", 5)),
        (b"X: y\r\n", UNTIL_CLOSE),
        *((b"Content-Length:\r\n 5\r\n", 5), (b"Content-Length: 5\r\n" * 3, 5)),
        *((b"Content-Length: 5, 5\r\n", 5), (b"Content-Length: 005\r\n", 5)),
        *((b"Content-Length: 0\r\n", 0), (b"Transfer-Encoding: chunked\r\n", CHUNKED)),
        *((b"Transfer-Encoding: gzip,\r\n CHUNKED\r\n", CHUNKED), (b"", UNTIL_CLOSE)),
        *((b"Transfer-Encoding: gzip\r\nTransfer-Encoding : chunked\r\n", CHUNKED),),
        *((b"Transfer-Encoding: chunked, gzip\r\n", UNTIL_CLOSE),),
        *((b"Transfer-Encoding: xchunked\r\n", UNTIL_CLOSE), (b"TE: chunked\r\n", UNTIL_CLOSE)),
        (b"Content-Length: " + b"9" * 18 + b"\r\n", 10**18 - 1),
    ],
)
def test_the_headers_say_where_the_body_ends(lines: bytes, framing: int):
    assert read_head(OK + lines + b"\r\n").framing == framing


@pytest.mark.parametrize(
    "lines",
    [
        *(b"Content-Length: 1\r\nContent-Length: 2\r\n", b"Content-Length: 2, 3\r\n"),
        *(b"Content-Length: 2\r\n 3\r\n", b"Content-Length: 2\r\nContent-Length: 02\r\n"),
        *(b"Content-Length: -1\r\n", b"Content-Length: +1\r\n", b"Content-Length: 0x1\r\n"),
        *(b"Content-Length: \r\n", b"Content-Length: 2,\r\n", b"Content-Length: \xb2\r\n"),
        *(b"Content-Length: " + b"9" * 19 + b"\r\n", b"Content-Length: 2 3\r\n"),
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding : chunked\r\nContent-Length : 2\r\n",
        b"Transfer-Encoding:\r\n identity\r\nContent-Length: 2\r\n",
    ],
)
def test_a_length_that_could_be_read_in_two_ways_is_refused(lines: bytes):
    with pytest.raises(DeliveryError, match="length"):
        fields(lines)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        *((b"a\r\n\r\nb\n\n", 5), (b"a\n\nb\r\n\r\n", 3), (b"a\n\r\nb", 4), (b"a\r\n\nb", 4)),
        *((b"a\r\n", -1), (b"a\r\n\r", -1), (b"a\r\r", -1), (b"", -1)),
    ],
)
def test_the_first_empty_line_ends_the_head(data: bytes, end: int):
    assert end_of_head(data) == end


def test_the_search_may_begin_behind_what_was_searched():
    assert end_of_head(b"a\n\nb\r\n\r\n", 2) == 8


@pytest.mark.parametrize(("status", "fine"), [(99, 0), (100, 1), (101, 0), (999, 1), (1000, 0)])
def test_a_status_has_three_digits_and_switches_no_protocol(status: int, fine: int):
    assert (status_problem(status) == "") is bool(fine)
