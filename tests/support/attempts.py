"""Attempts of tests: entries and messages as dispatch makes them, and a client that keeps all."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from delivery.http_client import Request, Response
from shared.encryption import seal, seal_json

TENANT = str(uuid4())
TASK = str(uuid4())


class Client:
    """Keeps what it is asked to send, and answers or raises as it is told."""

    def __init__(self, result: Any = None) -> None:
        self.result = result or Response(200, [("A", "b")], b"ok", False, {"total": 1.0}, "1.1.1.1")
        self.requests: list[Request] = []
        #: What went over the wire, where that was made before.
        self.sent: list[bytes | None] = []
        self.tenants: list[str] = []

    async def send(
        self, request: Request, data: bytes | None = None, *, tenant: str = ""
    ) -> Response:
        self.tenants.append(tenant)
        self.requests.append(request if data is None else read_back(request, data))
        self.sent.append(data)
        if isinstance(self.result, Exception):
            raise self.result
        return cast(Response, self.result)


def read_back(request: Request, data: bytes) -> Request:
    """Return the request with the headers and the body that its bytes have."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    framing = {"Host", "Accept-Encoding", "Content-Length"}
    headers = [(name, value) for name, value in lines if name not in framing]
    return replace(request, headers=headers, body=body)


def entry(payload: Any = None, headers: dict[str, str] | None = None, **parts: Any) -> Any:
    """Return an entry as dispatch makes it; ``target``, ``secret`` and ``policy`` add fields."""
    target = {
        "method": "POST",
        "success": {"statuses": ["2xx"]},
        "timeout_seconds": 30,
        "connect_timeout_seconds": 5,
        **parts.pop("target", {}),
    }
    content = {"headers": headers or {}, "payload": payload, **parts.pop("secret", {})}
    return {
        "id": str(uuid4()),
        "tenant": TENANT,
        "task": TASK,
        "revision": 1,
        "token": 7,
        "attempt": 1,
        "max_attempts": 3,
        "scheduled_for": 1_700_000_000.0,
        "target": target,
        "url": "https://api.example.com/hook",
        "retry_policy": {
            "backoff": "fixed",
            "initial_delay_seconds": 2,
            "factor": 2,
            "max_delay_seconds": 60,
            "jitter": "none",
            "retry_on": ["5xx", "429", "timeout"],
            **parts.pop("policy", {}),
        },
        "sealed": text(seal_json(content, f"revision:{TASK}:1".encode())),
        "payload": None,
        **parts,
    }


def batch(*secrets: str) -> Any:
    sealed = [text(seal(one.encode(), f"signing-secret:{TENANT}".encode())) for one in secrets]
    return {"offset": 0.25, "secrets": {TENANT: sealed}}


def text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()
