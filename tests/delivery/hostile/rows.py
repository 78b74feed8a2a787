"""What a row of the table is: a receiver's behaviour and what must become of the attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tests.delivery.hostile.ground import Ground
from tests.support.raw_receiver import Conversation, Script, raw_receiver

OK = b"HTTP/1.1 200 OK\r\n"
HI = OK + b"Content-Length: 2\r\n\r\nhi"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
#: Where the end is the client's own time-out.
SHORT = 0.2
LONG = 120.0
#: Bytes of an answer that are kept, as the default of the product says.
CAPTURED = 65_536


@dataclass(frozen=True)
class Place:
    """Where a behaviour can be called."""

    url: str
    #: Ends once the receiver has seen the client hang up; None where it never looks.
    left: Callable[[], Awaitable[Any]] | None = None


Stage = Callable[[Ground], AbstractAsyncContextManager[Place]]
Verb = Literal["succeeded", "retrying", "failed"]


@dataclass(frozen=True)
class Row:
    """One behaviour; ``codes`` holds every truthful error code, empty for a success."""

    name: str
    stage: Stage
    verb: Verb = "succeeded"
    codes: tuple[str, ...] = ("",)
    status: int | None = None
    #: At most so much of the body is kept.
    captured: int = 0
    truncated: bool = False
    timeout: float = LONG
    connect_timeout: float = LONG
    #: Bounds of the wait before the next attempt; the policy says 2 s.
    wait: tuple[float, float] = (2, 2)
    target: dict[str, Any] = field(default_factory=dict)
    payload: Any = None


def scripted(script: Script) -> Stage:
    """Return a receiver that follows the script, without TLS."""

    @asynccontextmanager
    async def stage(_: Ground) -> AsyncIterator[Place]:
        async with raw_receiver(script) as receiver:
            yield Place(f"http://127.0.0.1:{receiver.port}/hook", receiver.script_ended.wait)

    return stage


async def _say(
    conversation: Conversation, *, pieces: tuple[bytes, ...], then: str, over: bytes
) -> None:
    await conversation.read_request()
    for piece in pieces:
        await conversation.send(piece)
    if over:
        await conversation.send_forever(over)
    if then == "hold":
        await conversation.hold()
    elif then == "reset":
        conversation.reset()


def says(*pieces: bytes, then: str = "hold", over: bytes = b"") -> Stage:
    """Return a receiver that reads the request and sends the pieces, then ``over`` for ever.

    ``then``: hold, close or reset.
    """
    return scripted(partial(_say, pieces=pieces, then=then, over=over))


def never_looks(script: Script) -> Stage:
    """Return a receiver that does not see the client leave."""

    @asynccontextmanager
    async def stage(_: Ground) -> AsyncIterator[Place]:
        async with raw_receiver(script) as receiver:
            yield Place(f"http://127.0.0.1:{receiver.port}/hook")

    return stage


async def for_ever(_: Conversation) -> None:
    """Neither read nor write."""
    await asyncio.Event().wait()


def retried(name: str, stage: Stage, *codes: str, **more: Any) -> Row:
    """Return a row whose attempt fails with one of the codes and is tried again."""
    return Row(name, stage, "retrying", codes, **more)


def ended(name: str, stage: Stage, *codes: str, **more: Any) -> Row:
    """Return a row whose attempt fails with one of the codes for good."""
    return Row(name, stage, "failed", codes, **more)


def invalid(name: str, *pieces: bytes, then: str = "hold", over: bytes = b"") -> Row:
    """Return a row whose answer is no answer."""
    return retried(name, says(*pieces, then=then, over=over), "response_invalid")


def timed_out(name: str, stage: Stage) -> Row:
    """Return a row that is cut off at the total time-out."""
    return retried(name, stage, "timeout_total", timeout=SHORT)


def taken(name: str, *pieces: bytes, captured: int = 2, **more: Any) -> Row:
    """Return a row whose odd answer is a success."""
    over, then = more.pop("over", b""), more.pop("then", "hold")
    stage = says(*pieces, then=then, over=over)
    return Row(name, stage, status=more.pop("status", 200), captured=captured, **more)
