"""Receivers that take their time, at every phase of a call."""

from __future__ import annotations

from tests.delivery.hostile.rows import (
    CHUNKED,
    HI,
    OK,
    SHORT,
    Row,
    for_ever,
    never_looks,
    says,
    scripted,
    timed_out,
)
from tests.support.raw_receiver import Conversation


async def _drip_headers(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.drip(OK + b"X-Slow: yes, very slow indeed")


async def _drip_body(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.send(OK + b"Content-Length: 100000\r\n\r\n")
    await conversation.drip(b"x")


async def _drip_chunks(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.send(CHUNKED)
    await conversation.drip(b"1\r\nx\r\n")


async def _at_the_deadline(conversation: Conversation) -> None:
    await conversation.read_request()
    if not await conversation.gone_within(SHORT):
        await conversation.send(HI)
        await conversation.hold()


ROWS = [
    timed_out("accepts the connection and never answers", says()),
    timed_out("never reads the request", never_looks(for_ever)),
    timed_out("stops within the status line", says(b"HTTP/1.1 20")),
    timed_out("stops after the status line", says(OK)),
    timed_out("stops within a header", says(OK + b"X-Half: a")),
    timed_out("stops before the end of the headers", says(OK + b"Content-Length: 2\r\n")),
    timed_out("stops after the headers", says(OK + b"Content-Length: 5\r\n\r\n")),
    timed_out("stops within the body", says(OK + b"Content-Length: 5\r\n\r\nab")),
    timed_out("stops within a body whose end would be the connection's", says(OK + b"\r\nabc")),
    timed_out("stops before the first chunk", says(CHUNKED)),
    timed_out("stops within a chunk's size", says(CHUNKED, b"1")),
    timed_out("stops within a chunk", says(CHUNKED, b"5\r\nab")),
    timed_out("stops between chunks", says(CHUNKED, b"1\r\nx\r\n")),
    timed_out("stops before the end of the trailers", says(CHUNKED, b"0\r\nX: y\r\n")),
    timed_out("says 100 Continue and nothing more", says(b"HTTP/1.1 100 Continue\r\n\r\n")),
    timed_out("drips its headers byte by byte", scripted(_drip_headers)),
    timed_out("drips its body byte by byte", scripted(_drip_body)),
    timed_out("drips chunks of one byte", scripted(_drip_chunks)),
    Row(
        "answers exactly at the time-out",
        scripted(_at_the_deadline),
        verb="retrying",
        codes=("", "timeout_total"),
        captured=2,
        timeout=SHORT,
    ),
]
