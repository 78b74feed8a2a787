"""One thread for a request, whatever the middleware."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import AsyncToSync
from asgiref.testing import ApplicationCommunicator

from shared.api.handler import OneThreadHandler

SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "path": "/healthz",
    "raw_path": b"/healthz",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 80),
}


async def test_no_part_of_a_request_goes_back_to_the_loop(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a synchronous part asks the loop")

    handler = OneThreadHandler()
    monkeypatch.setattr(AsyncToSync, "__call__", refuse)
    request = ApplicationCommunicator(handler, SCOPE)

    await request.send_input({"type": "http.request", "body": b"", "more_body": False})
    start = await request.receive_output(5)
    body = await request.receive_output(5)
    await request.wait(5)

    assert start["status"] == 200
    assert body["type"] == "http.response.body"
