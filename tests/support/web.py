"""A web process on a port of its own, asked by HTTP."""

from __future__ import annotations

import http.client
import json
import socket


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> tuple[int, dict[str, object]] | None:
    """Return status and document, or None while the port is closed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()
