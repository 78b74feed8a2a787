from __future__ import annotations

import pytest

from delivery.errors import DeliveryError
from delivery.lenient_body import BodyReader
from delivery.lenient_head import CHUNKED, UNTIL_CLOSE

CHUNKS = [
    b"2\r\nhi\r\n0\r\n\r\n",
    b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
    b"0002  \r\nhi\r\n00 \t\r\n\r\n",
    b"2;a=b\r\nhi\r\n0;c\r\n\r\n",
    b'2 ; a = "b;c" ; d\r\nhi\r\n0\r\n\r\n',
    b"2;\r\nhi\r\n0\r\n\r\n",
    b"2\r\nhi\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n",
    b"2\r\nhi\r\n0\r\nX: y\n folded\n\n",
    b"2\r\nhi\r\n0\r\n\n",
]


def read(framing: int, data: bytes, size: int = 1_000_000) -> tuple[bytes, BodyReader]:
    pieces: list[bytes] = []
    reader = BodyReader(framing, pieces.append)
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    return b"".join(pieces), reader


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("data", CHUNKS)
def test_chunks_are_undone_in_whatever_pieces_they_come(data: bytes, size: int):
    body, reader = read(CHUNKED, data, size)

    assert (body, reader.ended) == (b"hi", True)


@pytest.mark.parametrize("data", CHUNKS)
def test_chunks_without_their_end_have_not_ended(data: bytes):
    _, reader = read(CHUNKED, data[:-1])

    assert not reader.ended


@pytest.mark.parametrize("size", [1, 1_000_000])
@pytest.mark.parametrize(
    "data",
    [
        *(b"2\nhi\r\n0\r\n\r\n", b"2 \nhi\r\n", b"2;a\nhi\r\n", b"2\r\nhi\n0\r\n", b"2\r\nhi\rx"),
        *(b"1\r\nhello\r\n", b"xyz\r\n", b"-1\r\n", b"+1\r\n", b"0x2\r\n", b"\r\n", b" 2\r\nhi"),
        *(b"2 2\r\nhi", b"2\0\r\n", b"2;\0\r\n", b"2;a\rb\r\n", b"1" + b"0" * 16 + b"\r\n"),
        *(b"2;" + b"x" * 20_000, b"1" + b" " * 20_000, b"2\r\nhi0\r\n\r\n"),
    ],
)
def test_a_size_that_could_be_read_in_two_ways_is_refused(data: bytes, size: int):
    with pytest.raises(DeliveryError) as caught:
        read(CHUNKED, data, size)

    assert caught.value.code == "response_invalid"


def test_trailers_are_not_kept():
    reader = BodyReader(CHUNKED, lambda _: None)
    reader.feed(b"0\r\n")

    for _ in range(1000):
        reader.feed(b"X-Trailer: " + b"y" * 10_000 + b"\r\n")

    assert len(reader._pending) <= 2


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_body_with_a_length_ends_there(size: int):
    body, reader = read(5, b"hello, the rest", size)

    assert (body, reader.ended) == (b"hello", True)


def test_a_body_without_a_length_ends_with_the_connection():
    body, reader = read(UNTIL_CLOSE, b"hello")

    assert (body, reader.ended, reader.until_close) == (b"hello", False, True)


def test_an_empty_body_has_ended_before_it_begins():
    assert BodyReader(0, lambda _: None).ended
