from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.errors import DeliveryError
from delivery.http_parser import ResponseReader
from delivery.lenient_reader import MAX_INFORMATIONAL, LenientReader

OK = b"HTTP/1.1 200 OK\r\n"
HI = OK + b"Content-Length: 2\r\n\r\nhi"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Read:
    """What a reader made of an answer."""

    def __init__(self, data: bytes, size: int = 1_000_000, *, expects_body: bool = True) -> None:
        pieces: list[bytes] = []
        self.reader = LenientReader(pieces.append, expects_body=expects_body)
        for at in range(0, len(data), size):
            self.reader.feed(data[at : at + size])
        self.head = self.reader.head
        self.body = b"".join(pieces)
        self.complete = self.reader.complete


@pytest.mark.parametrize("size", [1, 2, 5, 1_000_000])
@pytest.mark.parametrize(
    "data",
    [
        *(HI, HI.replace(b"\r", b""), CONTINUE * MAX_INFORMATIONAL + HI, CONTINUE + HI),
        *(OK + b"Transfer-Encoding:\r\n chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", HI + b"more"),
    ],
)
def test_an_answer_is_read_in_whatever_pieces_it_comes(data: bytes, size: int):
    found = Read(data, size)

    assert found.complete
    assert found.head is not None
    assert (found.head.status, found.body) == (200, b"hi")


@pytest.mark.parametrize(
    ("data", "expects_body"),
    [
        (b"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n", True),
        (b"HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n", True),
        (OK + b"Content-Length: 5\r\n\r\n", False),
        (OK + b"\r\n", False),
    ],
)
def test_an_answer_without_a_body_ends_with_its_head(data: bytes, expects_body: bool):
    assert Read(data, expects_body=expects_body).complete


@pytest.mark.parametrize("size", [1, 977, 1_000_000])
@pytest.mark.parametrize(
    "data",
    [
        *(b"HTTQ", b"http/1.1 200 OK\r\n\r\n", b"\r\n" + HI, b"HTTP/2.0 200 OK\r\n\r\n"),
        *(CONTINUE * (MAX_INFORMATIONAL + 1) + HI, OK + b"X-A: " + b"a" * 70_000),
        OK + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n",
        (b"HTTP/1.1 103 x\r\nLink: " + b"a" * 1000 + b"\r\n\r\n") * 70 + HI,
    ],
)
def test_what_is_no_answer_or_too_much_is_refused(data: bytes, size: int):
    with pytest.raises(DeliveryError) as caught:
        Read(data, size)

    assert caught.value.code == "response_invalid"


@pytest.mark.parametrize(
    ("data", "complete"),
    [
        *((OK + b"\r\nhalf", True), (OK + b"Content-Length: 5\r\n\r\nhalf", False)),
        *((OK, False), (CONTINUE, False), (HI, True)),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", False),
    ],
)
def test_the_end_of_the_connection_completes_only_a_body_without_length(
    data: bytes, complete: bool
):
    assert Read(data).reader.finish_at_eof() is complete


TOKENS = st.text("abcXYZ-_09!#$", min_size=1, max_size=8).filter(
    lambda name: name.lower() not in ("te", "upgrade", "connection")
)
VALUES = st.text(
    st.characters(codec="latin-1", exclude_categories=["Cc"], include_characters="\t"), max_size=12
)
PIECES = st.lists(st.binary(min_size=1, max_size=9), max_size=4)


@st.composite
def regular_answers(draw: st.DrawFn) -> bytes:
    """Draw answers that break no rule."""
    pieces = draw(PIECES)
    lines = [
        f"{name}: {value}" for name, value in draw(st.lists(st.tuples(TOKENS, VALUES), max_size=5))
    ]
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), "Transfer-Encoding: chunked")
        body = (
            b"".join(b"%x;e=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        )
    else:
        body = b"".join(pieces)
        lines.insert(draw(st.integers(0, len(lines))), f"Content-Length: {len(body)}")
    status = draw(st.integers(200, 999))
    head = "\r\n".join([f"HTTP/1.1 {status} x", *lines]) + "\r\n\r\n"
    return head.encode("latin-1") + body


@given(regular_answers(), st.integers(1, 40))
def test_a_regular_answer_is_read_as_llhttp_reads_it(data: bytes, size: int):
    strict = ResponseReader()
    strict.begin(10_000, expects_body=True)
    assert strict.feed(data)

    found = Read(data, size)

    assert found.complete
    assert found.head is not None
    assert (found.head.status, found.body) == (strict.status, strict.body)
    assert [value for _, value in found.head.headers] == [
        value.strip(b" \t") for _, value in strict._raw_headers
    ]


@given(regular_answers(), st.integers(1, 40), st.data())
def test_an_irregular_line_changes_nothing_of_the_rest(data: bytes, size: int, draw: st.DataObject):
    head, gap, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    odd = draw.draw(st.sampled_from([b"X-Odd : a", b"X-Odd: a\r\n b", b"X-Odd: a\nX-Odd: b"]))
    lines.insert(draw.draw(st.integers(1, len(lines))), odd)
    reader = ResponseReader()
    reader.begin(10_000, expects_body=True)
    irregular = b"\r\n".join(lines) + gap + body

    assert any(reader.feed(irregular[at : at + size]) for at in range(0, len(irregular), size))

    plain = Read(data)
    assert plain.head is not None
    assert (reader.status, reader.body) == (plain.head.status, plain.body)
    assert not reader.reusable
