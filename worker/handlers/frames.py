"""The protocol between a worker and its handlers' processes: JSON documents after their lengths.

One socket per process. A frame is bounded, because the other side runs code of users.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from typing import Any, Literal, NotRequired, TypedDict

import orjson

#: Bound of a frame to the worker: a result of 64 KiB, progress of 16 KiB, and a margin.
TO_WORKER_BYTES = 256 * 1024
#: Bound of a frame to a process: a payload, which the deployment bounds at a megabyte or less.
TO_PROCESS_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class Job(TypedDict):
    """One run of a handler, as its process gets it."""

    token: int
    handler: str
    execution_id: str
    task_id: str
    attempt: int
    #: RFC 3339, in UTC.
    scheduled_for: str
    payload: Any
    last_progress: Any


class Run(Job):
    """The worker asks the process for a run."""

    verb: Literal["run"]


class Cancel(TypedDict):
    """The worker asks the process to end the run of the token."""

    verb: Literal["cancel"]
    token: int


class Hello(TypedDict):
    """The first message to a process: the modules that it imports."""

    modules: list[str]


class Answer(TypedDict):
    """A message of the process, by its verb.

    ``ready`` or ``broken`` once, then for each run any number of ``progress`` and one of
    ``returned``, ``raised`` and ``unknown``. The worker makes ``died`` itself.
    """

    verb: Literal["ready", "broken", "progress", "returned", "raised", "unknown", "died"]
    message: NotRequired[str]
    permanent: NotRequired[bool]
    result: NotRequired[Any]
    #: The checkpoint of ``progress``.
    value: NotRequired[Any]
    memory_bytes: NotRequired[int]
    #: The exit code of a process that ``died``, and why it was noticed.
    code: NotRequired[int | None]
    cause: NotRequired[str]


class BrokenFrame(Exception):
    """The other side broke the protocol."""


def frame(document: Hello | Run | Cancel | Answer, limit: int) -> bytes:
    """Return the document as a frame; TypeError for what is no JSON, BrokenFrame when too long."""
    body = orjson.dumps(document)
    if len(body) > limit:
        raise BrokenFrame(f"a frame of {len(body)} bytes; at most {limit} are read")
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> Answer:
    """Return the next document of a process; its values may be anything that a user's code writes.

    Raise EOFError after the process' end, BrokenFrame for what is no document with a verb.
    """
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > TO_WORKER_BYTES:
            raise BrokenFrame(f"a frame of {length} bytes; at most {TO_WORKER_BYTES} are read")
        found = orjson.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise EOFError("the process has gone") from error
    except orjson.JSONDecodeError as error:
        raise BrokenFrame("a frame that is no JSON") from error
    if not isinstance(found, dict) or "verb" not in found:
        raise BrokenFrame("a frame that is no object with a verb")
    answer: Any = found
    said: Answer = answer
    return said


class Channel:
    """The process' end of the socket; sending is safe from every thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, document: Answer) -> None:
        """Send a document; TypeError for what is no JSON, BrokenFrame when too long."""
        data = frame(document, TO_WORKER_BYTES)
        with self._sending:
            self._connection.sendall(data)

    def hello(self) -> Hello | None:
        """Return the worker's first document, or None when the worker has ended."""
        found: Hello | None = self._document()
        return found

    def receive(self) -> Run | Cancel | None:
        """Return the worker's next document, or None when the worker has ended."""
        found: Run | Cancel | None = self._document()
        return found

    def _document(self) -> Any:
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        body = self._exactly(_LENGTH.unpack(head)[0])
        return None if body is None else orjson.loads(body)

    def _exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            try:
                part = self._connection.recv(count - len(data))
            except OSError:
                return None
            if not part:
                return None
            data += part
        return bytes(data)
