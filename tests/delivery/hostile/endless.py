"""Receivers that send too much, or what becomes too much."""

from __future__ import annotations

import gzip
import random
import zlib

from tests.delivery.hostile.rows import (
    CAPTURED,
    CHUNKED,
    HI,
    OK,
    Row,
    for_ever,
    invalid,
    never_looks,
    taken,
)
from tests.support.raw_receiver import Conversation

_MANY = b"x" * 65_536
_ZEROS = bytes(20_000_000)
_BOMB = gzip.compress(_ZEROS)
_DEFLATED = zlib.compress(_ZEROS)
_HALF = gzip.compress(random.Random(1).randbytes(2000))[:1000]


def _encoded(name: bytes, body: bytes) -> bytes:
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    return OK + b"Content-Encoding: " + name + b"\r\n" + length + body


def _cut(name: str, head: bytes, over: bytes) -> Row:
    return taken(name, head, over=over, captured=CAPTURED, truncated=True)


async def _impatient(conversation: Conversation) -> None:
    await conversation.send(HI)
    await for_ever(conversation)


ROWS = [
    invalid("sends headers without end", OK, over=b"X-Endless: header\r\n" * 500),
    invalid("sends one header line without end", OK + b"X-Endless: ", over=_MANY),
    invalid("sends a header name without end", OK, over=_MANY),
    invalid("sends a status line without end", b"HTTP/1.1 200 ", over=_MANY),
    invalid("sends empty lines in place of an answer", over=b"\r\n" * 1000),
    invalid("floods with 100 Continue", over=b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    invalid("floods with 103 Early Hints", over=b"HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n" * 50),
    invalid("sends long early hints a hundred times", b"HTTP/1.1 103 x\r\nLink: <"
            + b"a" * 1000 + b">\r\n\r\n", over=b"HTTP/1.1 103 x\r\nLink: <" + b"a" * 1000
            + b">\r\n\r\n"),
    invalid("folds a header without end", OK + b"X: y\r\n", over=b" folded\r\n" * 500),
    invalid("ends lines with LF alone, without end", over=b"HTTP/1.1 100 x\n\n" * 50),
    invalid("sends blanks after a chunk size without end", CHUNKED + b"1", over=b" " * 65_536),
    invalid("sends 300 headers", OK + b"X: y\r\n" * 300 + b"Content-Length: 0\r\n\r\n"),
    invalid("sets a cookie of 1 MB", OK + b"Set-Cookie: a=" + b"b" * 1_000_000 + b"\r\n\r\n"),
    invalid("sends a chunk extension without end", CHUNKED + b"1;", over=_MANY),
    invalid("sends trailers without end", CHUNKED + b"0\r\n", over=b"X-Trailer: value\r\n" * 500),
    _cut("announces 10 GB and sends them", OK + b"Content-Length: 10000000000\r\n\r\n", _MANY),
    _cut("sends a body without length and without end", OK + b"\r\n", _MANY),
    _cut("sends chunks without end", CHUNKED, b"10000\r\n" + _MANY + b"\r\n"),
    _cut("puts blanks into chunk extensions without end", CHUNKED, b"1 ; a\r\nx\r\n" * 1000),
    _cut("sends chunks of one byte without end", CHUNKED, b"1\r\nx\r\n" * 1000),
    taken(
        "sends a gzip bomb (20 MB in 20 kB)",
        _encoded(b"gzip", _BOMB),
        captured=CAPTURED,
        truncated=True,
    ),
    taken(
        "sends a deflate bomb", _encoded(b"deflate", _DEFLATED), captured=CAPTURED, truncated=True
    ),
    taken(
        "sends a gzip bomb within a gzip bomb",
        _encoded(b"gzip, gzip", gzip.compress(_BOMB)),
        captured=CAPTURED,
    ),
    taken("names an unknown encoding", _encoded(b"zebra", b"\0\1\2"), captured=3),
    taken("names Brotli unasked", _encoded(b"br", b"\x0b\x01"), captured=2),
    taken("says gzip and sends something else", _encoded(b"gzip", b"plain"), captured=5),
    taken("sends half a gzip body", _encoded(b"gzip", _HALF), captured=1000),
    taken("sets a cookie of 60 kB", OK + b"Set-Cookie: a=" + b"b" * 60_000
          + b"\r\nContent-Length: 2\r\n\r\nhi"),
    Row(
        "answers before it has read the request",
        never_looks(_impatient),
        status=200,
        captured=2,
        payload="x" * 1_000_000,
    ),
]  # fmt: skip
