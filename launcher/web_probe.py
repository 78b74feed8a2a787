"""Asks the web process over HTTP whether it answers, and whether everything has started.

The supervisor's stages and the storm call this. No answer in time means: not yet.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus

_SECONDS = 2.0
#: More than the size of any answer of /healthz or /readyz.
_MOST_BYTES = 64 * 1024


async def answers_ok(host: str, port: int, path: str) -> bool:
    """Return whether GET of the path is answered with 200 within two seconds."""
    status, _ = await _answer(host, port, path)
    return status == HTTPStatus.OK


async def has_started(host: str, port: int) -> bool:
    """Return whether everything runs; a fence does not count, since a person has to lift it."""
    status, body = await _answer(host, port, "/readyz")
    if status != HTTPStatus.SERVICE_UNAVAILABLE:
        return status == HTTPStatus.OK
    try:
        checks = json.loads(body)["checks"]
    except (ValueError, KeyError):
        # Something in front of the web process answered; the caller asks again.
        return False
    return {name for name, found in checks.items() if found != "ok"} == {"fence"}


def spelled(host: str) -> str:
    """Return the host as a URL spells it."""
    return f"[{host}]" if ":" in host else host


async def _answer(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of a GET; 0 where there is no whole answer in time."""
    request = f"GET {path} HTTP/1.1\r\nHost: {spelled(host)}:{port}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(request.encode())
                await reader.readexactly(_MOST_BYTES)
            except asyncio.IncompleteReadError as ended:
                head, _, body = ended.partial.partition(b"\r\n\r\n")
            else:
                return 0, b""
            finally:
                writer.close()
    except (OSError, TimeoutError):
        # Not listening yet, or too busy to answer; the caller asks again.
        return 0, b""
    words = head.split(maxsplit=2)
    return (int(words[1]) if words[1:] and words[1].isdigit() else 0), body
