"""The protocol between a worker and its handlers' processes: JSON documents after their lengths.

One socket per process. A frame is bounded, because the other side runs code of users.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from typing import Any

import orjson

#: Bound of a frame to the worker: a result of 64 KiB, progress of 16 KiB, and a margin.
TO_WORKER_BYTES = 256 * 1024
#: Bound of a frame to a process: a payload, which the deployment bounds at a megabyte or less.
TO_PROCESS_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class BrokenFrame(Exception):
    """The other side broke the protocol."""


def frame(document: dict[str, Any], limit: int) -> bytes:
    """Return the document as a frame; TypeError for what is no JSON, BrokenFrame when too long."""
    body = orjson.dumps(document)
    if len(body) > limit:
        raise BrokenFrame(f"a frame of {len(body)} bytes; at most {limit} are read")
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next document of a process; EOFError after its end, BrokenFrame for nonsense."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > TO_WORKER_BYTES:
            raise BrokenFrame(f"a frame of {length} bytes; at most {TO_WORKER_BYTES} are read")
        found = orjson.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise EOFError("the process has gone") from error
    except orjson.JSONDecodeError as error:
        raise BrokenFrame("a frame that is no JSON") from error
    if not isinstance(found, dict):
        raise BrokenFrame("a frame that is no object")
    return found


class Channel:
    """The process' end of the socket; sending is safe from every thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, document: dict[str, Any]) -> None:
        """Send a document; TypeError for what is no JSON, BrokenFrame when too long."""
        data = frame(document, TO_WORKER_BYTES)
        with self._sending:
            self._connection.sendall(data)

    def receive(self) -> dict[str, Any] | None:
        """Return the worker's next document, or None when the worker has ended."""
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
