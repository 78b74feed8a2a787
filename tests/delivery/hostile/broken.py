"""Receivers that do not speak HTTP as it is written, or break off."""

from __future__ import annotations

from tests.delivery.hostile.rows import (
    CHUNKED,
    HI,
    OK,
    Row,
    invalid,
    retried,
    says,
    scripted,
    taken,
)
from tests.support.raw_receiver import Conversation


async def _close_at_once(_: Conversation) -> None:
    return


async def _reset_at_once(conversation: Conversation) -> None:
    conversation.reset()


def _length(value: bytes, body: bytes = b"hi") -> bytes:
    return OK + b"Content-Length: " + value + b"\r\n\r\n" + body


def _status(line: bytes) -> bytes:
    return b"HTTP/1.1 " + line + b"\r\nContent-Length: 0\r\n\r\n"


_NOT_HTTP = [
    invalid("sends garbage", b"\0\1\2garbage"),
    invalid("sends HTML without a head", b"<html>hello</html>"),
    invalid("answers as HTTP/0.9 did", b"hello", then="close"),
    invalid("is an SSH server", b"SSH-2.0-OpenSSH_9.9\r\n"),
    invalid("is a mail server", b"220 mail.example ESMTP\r\n"),
    invalid("is a Redis server", b"-ERR unknown command\r\n"),
    invalid("expects TLS", b"\x15\x03\x01\0\x02\x02\x46"),
    invalid("says HTTP/2", b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    invalid("sends an HTTP/2 frame", b"\0\0\x12\x04\0\0\0\0\0" + bytes(18)),
    invalid("says http in lower case", b"http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    invalid("speaks RTSP", b"RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    invalid("puts white space before the answer", b" " + HI),
    invalid("answers with a request", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
]
_STATUS_LINES = [
    invalid("answers the status 99", _status(b"099 x")),
    invalid("answers the status 1000", _status(b"1000 x")),
    invalid("answers the status abc", _status(b"abc x")),
    invalid("answers the status -200", _status(b"-200 x")),
    invalid("answers without a status", _status(b"")),
    invalid("switches protocols unasked (101)", b"HTTP/1.1 101 x\r\nConnection: upgrade\r\n"
            b"Upgrade: x\r\n\r\n"),
]  # fmt: skip
_LENGTHS = [
    invalid("gives two lengths", OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi"),
    invalid("gives two lengths in one header", _length(b"2, 3")),
    invalid("gives a negative length", _length(b"-1")),
    invalid("gives a length with a sign", _length(b"+2")),
    invalid("gives a length in hexadecimal", _length(b"0x2")),
    invalid("gives a length of 30 digits", _length(b"9" * 30)),
    invalid("gives a length and chunks", CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n0\r\n\r\n"),
    invalid("announces more than it sends", _length(b"5", b"ab"), then="close"),
    taken("sends more than it announced", _length(b"2", b"hi and more")),
    taken("answers twice", HI + HI),
    invalid("sends a chunk size that is no number", CHUNKED + b"xyz\r\n"),
    invalid("sends a negative chunk size", CHUNKED + b"-1\r\nx\r\n"),
    invalid("sends a chunk size beyond 64 bits", CHUNKED + b"f" * 18 + b"\r\n"),
    invalid("sends a chunk longer than its size", CHUNKED + b"1\r\nhello\r\n"),
]
_HEADERS = [
    invalid("puts NUL into a header", OK + b"X: a\0b\r\n\r\n"),
    invalid("sends a header without a colon", OK + b"Nonsense\r\n\r\n"),
    invalid("puts a space into a header name", OK + b"X Y: a\r\n\r\n"),
    invalid("folds its status line", OK + b" a\r\n\r\n"),
    invalid("ends a header with a bare CR", OK + b"Location: /a\rX-Evil: b\r\n\r\n"),
    invalid("puts ANSI sequences into a header", OK + b"X: \x1b[31mred\r\n\r\n"),
    taken("puts Latin-1 into a header", OK + b"X: \xe9\r\nContent-Length: 2\r\n\r\nhi"),
    taken("sends a body of NUL and ANSI sequences", _length(b"6", b"\0\x1b[31m"), captured=6),
    taken("sends a body that is no UTF-8", _length(b"4", b"\xff\xfe\xc3("), captured=4),
    taken(
        "sends a script for a browser", _length(b"25", b"<script>alert(1)</script>"), captured=25
    ),
    taken("answers 200 with an error in the body", _length(b"13", b'{"ok": false}'), captured=13),
    taken("speaks HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\nhi", then="close"),
    taken("sends early hints first", b"HTTP/1.1 103 x\r\nLink: y\r\n\r\n" * 3, HI),
    taken("says 100 Continue first", b"HTTP/1.1 100 Continue\r\n\r\n", HI),
]
#: What RFC 9110 and 9112 let a client read.
_IRREGULAR = [
    taken("says HTTP/1.2", HI.replace(b"1.1", b"1.2")),
    taken("ends its lines with LF alone", HI.replace(b"\r", b"")),
    taken("ends some lines with LF alone", OK + b"X: a\nContent-Length: 2\n\r\nhi"),
    taken("puts two blanks into its status line", HI.replace(b" ", b"  ")),
    taken("folds a header", OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"),
    taken("folds a header and ends its lines with LF", OK + b"X: a\n\tb\nContent-Length: 2\n\nhi"),
    taken("folds its length", OK + b"Content-Length:\r\n 2\r\n\r\nhi"),
    taken("folds its transfer coding", OK + b"Transfer-Encoding: x,\r\n chunked\r\n\r\n2\r\nhi\r\n"
          b"0\r\n\r\n"),
    taken("puts a blank before the colon", OK + b"X : a\r\nContent-Length : 2\r\n\r\nhi"),
    taken("gives the same length twice", OK + b"Content-Length: 2\r\n" * 2 + b"\r\nhi"),
    taken("gives the same length twice in one header", _length(b"2, 2")),
    taken("puts UTF-8 into a header", OK + "X: \u2713\r\nContent-Length: 2\r\n\r\nhi".encode()),
    taken("puts blanks after a chunk size", CHUNKED + b"2  \r\nhi\r\n0 \t\r\n\r\n"),
    taken("puts blanks into a chunk extension", CHUNKED + b"2 ; a = b\r\nhi\r\n0\r\n\r\n"),
    taken("quotes in a chunk extension", CHUNKED + b'2;a="b;c"\r\nhi\r\n0\r\n\r\n'),
    taken("sends trailers", CHUNKED + b"2\r\nhi\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n"),
    invalid("ends a chunk size with LF alone", CHUNKED + b"2\nhi\r\n0\r\n\r\n"),
    invalid("ends a chunk with LF alone", CHUNKED + b"2\r\nhi\n0\r\n\r\n"),
    invalid("gives lengths of which one has a zero before it", _length(b"2, 02")),
    invalid("gives a length and chunks in a folded header", OK + b"Content-Length: 2\r\n"
            b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    taken("says 102 Processing a hundred times", b"HTTP/1.1 102 Processing\r\n\r\n" * 100, HI),
    invalid("says 102 Processing 101 times", b"HTTP/1.1 102 Processing\r\n\r\n" * 101, HI),
]  # fmt: skip
_BROKEN_OFF = [
    retried("closes at once", scripted(_close_at_once), "connection_reset"),
    retried("resets at once", scripted(_reset_at_once), "connection_reset"),
    retried("closes after the request", says(then="close"), "connection_reset"),
    retried("resets after the request", says(then="reset"), "connection_reset"),
    # Whether the bytes before the RST are still seen is up to the kernel.
    retried(
        "resets within the headers",
        says(OK + b"X-A", then="reset"),
        "connection_reset",
        "response_invalid",
    ),
    retried(
        "resets within the body",
        says(_length(b"5", b"ab"), then="reset"),
        "connection_reset",
        "response_invalid",
    ),
    invalid("closes within the status line", b"HTTP/1.1 20", then="close"),
    invalid("closes within the headers", OK + b"X-A", then="close"),
    invalid("closes within the chunks", CHUNKED + b"1\r\nx\r\n", then="close"),
    invalid("closes after 100 Continue", b"HTTP/1.1 100 Continue\r\n\r\n", then="close"),
    taken("closes after its answer", HI, then="close"),
    Row(
        "resets after its answer",
        says(HI, then="reset"),
        verb="retrying",
        codes=("", "connection_reset"),
        captured=2,
    ),
]

ROWS = [*_NOT_HTTP, *_STATUS_LINES, *_LENGTHS, *_HEADERS, *_IRREGULAR, *_BROKEN_OFF]
