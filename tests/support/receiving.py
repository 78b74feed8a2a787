"""The test receiver of an installation, in a thread of the test, and calls to it as webhooks do."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from receiver.server import Receiver, ReceiverOptions
from shared.receiver_address import key_of


@contextmanager
def receiving(settings: Any, directory: Path) -> Iterator[str]:
    """Run the receiver that the settings then know; give the URL that addresses begin with."""
    listening, done = threading.Event(), threading.Event()
    ports: list[int] = []
    options = ReceiverOptions(
        control=directory / "receiver.sock",
        key=key_of(settings.SECRET_KEY),
        ledgers=directory,
        trials=settings.DEMO,
    )

    async def serve() -> None:
        receiver = Receiver(options)
        await receiver.start()
        ports.append(receiver.port)
        listening.set()
        await asyncio.to_thread(done.wait)
        await receiver.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert listening.wait(120)
        settings.RECEIVER_URL = f"http://127.0.0.1:{ports[0]}/"
        settings.RECEIVER_SOCKET = str(options.control)
        yield settings.RECEIVER_URL
    finally:
        done.set()
        thread.join(20)


def deliver(url: str, method: str = "POST", body: bytes = b"{}", **headers: str) -> tuple[int, Any]:
    """Call the URL as a webhook does; return status and document."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, given)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(content) if content else None
    except ValueError:
        return answer.status, content.decode()
