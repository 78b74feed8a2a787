"""A small asyncio client of the REST API for storms and load reports.

Keeps connections alive, bounds how many calls are under way, and repeats a call that may be
repeated (an idempotency key or a safe method) after a broken connection, 409, 429 or 503.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import httptools

REPEATED = {409, 429, 503}
MAX_TRIES = 8
MAX_WAIT_SECONDS = 5.0
CALL_SECONDS = 60.0


class ApiError(Exception):
    """The API gave an answer that the report cannot use."""


@dataclass(slots=True)
class Answer:
    """An answer, with the clock before the first sending and after the last byte."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent_ns: int = 0
    answered_ns: int = 0
    complete: bool = False
    keep_alive: bool = True

    def json(self) -> Any:
        """Return the decoded body."""
        return json.loads(self.body)


class _Parsing:
    """Collects one answer from the parser's callbacks."""

    def __init__(self) -> None:
        self.answer = Answer()
        self._parts: list[bytes] = []
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.answer = replace(self.answer, status=self.parser.get_status_code())

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        self.answer.body = b"".join(self._parts)
        self.answer.complete = True
        self.answer.keep_alive = self.parser.should_keep_alive()


class ApiClient:
    """Calls ``base_url`` with one API key; an async context manager that closes its connections."""

    def __init__(
        self, base_url: str, api_key: str, *, concurrency: int = 8, tries: int = MAX_TRIES
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError("the base URL must be http://host:port")
        self._host, self._port = parts.hostname, parts.port or 80
        self._key = api_key
        self._tries = tries
        self._slots = asyncio.Semaphore(concurrency)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        for _reader, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> Answer:
        """Make a call and return its answer of any status; OSError or EOFError without one."""
        repeatable = bool(key) or method in ("GET", "HEAD")
        data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        request = self._head(method, path, len(data), key) + data
        async with self._slots:
            sent_ns = time.time_ns()
            for number in range(self._tries):
                wait = min(MAX_WAIT_SECONDS, 0.1 * 2**number)
                last = number == self._tries - 1 or not repeatable
                try:
                    # wait_for would lose a cancellation that meets the answer (Python 3.11).
                    async with asyncio.timeout(CALL_SECONDS):
                        answer = await self._exchange(request)
                except (OSError, EOFError):
                    if last:
                        raise
                else:
                    answer.sent_ns = sent_ns
                    if last or answer.status not in REPEATED or not _asks_again(answer):
                        return answer
                    wait = min(MAX_WAIT_SECONDS, float(answer.headers.get("retry-after", wait)))
                await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def expect(
        self, status: int, method: str, path: str, body: Any = None, *, key: str = ""
    ) -> Answer:
        """Make a call and return its answer; ApiError for any other status."""
        answer = await self.call(method, path, body, key=key)
        if answer.status != status:
            text = answer.body[:500].decode("utf-8", "replace")
            raise ApiError(f"{method} {path} answered {answer.status}: {text}")
        return answer

    async def everything(self, path: str, name: str, **query: str) -> AsyncIterator[dict[str, Any]]:
        """Yield every item of a list, page by page."""
        query = {**query, "limit": "200"}
        while True:
            page = (await self.expect(200, "GET", f"{path}?{urlencode(query)}")).json()
            for item in page[name]:
                yield item
            cursor = page["pagination"].get("next_cursor")
            if not cursor:
                return
            query["cursor"] = cursor

    def _head(self, method: str, path: str, length: int, key: str) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._host}:{self._port}",
            f"Authorization: Bearer {self._key}",
            "Accept: application/json",
        ]
        if key:
            lines.append(f"Idempotency-Key: {key}")
        if length:
            lines.append("Content-Type: application/json")
        if length or method not in ("GET", "HEAD", "DELETE"):
            lines.append(f"Content-Length: {length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def _exchange(self, request: bytes) -> Answer:
        reader, writer = await self._connection()
        parsing = _Parsing()
        try:
            writer.write(request)
            while not parsing.answer.complete:
                data = await reader.read(65536)
                if not data:
                    raise EOFError("connection closed before the answer was complete")
                parsing.parser.feed_data(data)
        except BaseException:
            writer.close()
            raise
        parsing.answer.answered_ns = time.time_ns()
        if parsing.answer.keep_alive:
            self._idle.append((reader, writer))
        else:
            writer.close()
        return parsing.answer

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self._host, self._port)


def _asks_again(answer: Answer) -> bool:
    # A 409 without Retry-After is a conflict of states: repeating it would not help.
    return answer.status != 409 or "retry-after" in answer.headers
