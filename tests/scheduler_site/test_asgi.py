"""The ASGI application answers HTTP, with a bound on bodies before Django reads them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from asgiref.testing import ApplicationCommunicator

from scheduler_site.asgi import application


async def ask(path: str, body: bytes = b"", method: str = "GET") -> tuple[int, bytes]:
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-length", str(len(body)).encode())],
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": body})
    start = await communicator.receive_output(120)
    answer = await communicator.receive_output(120)
    await communicator.wait(120)
    return start["status"], answer["body"]


async def test_http_reaches_django() -> None:
    status, body = await ask("/healthz")

    assert (status, orjson.loads(body)) == (200, {"status": "ok"})


async def test_other_protocols_are_refused() -> None:
    communicator = ApplicationCommunicator(application, {"type": "lifespan"})

    with pytest.raises(ValueError, match="lifespan"):
        await communicator.wait(120)
