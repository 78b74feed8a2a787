"""A member who is logged in, and sockets as a browser of that member opens them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.test import Client

from notifications.routing import websocket_application
from tenants.models import Membership, Tenant

ORIGIN = "http://localhost:8000"


class Socket(ApplicationCommunicator):
    """A client's end of a socket; Channels' own imports a server that Punctual does not use."""

    async def connect(self, timeout: float = 60) -> tuple[bool, int]:
        """Open it; return whether it was accepted, or else the code."""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(timeout)
        return answer["type"] == "websocket.accept", answer.get("code", 0)

    async def send_text(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def receive_json(self, timeout: float = 60) -> Any:
        message = await self.receive_output(timeout)
        assert message["type"] == "websocket.send", message
        return orjson.loads(message["text"])

    async def disconnect(self, code: int = 1000) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": code})
        await self.wait(60)


def make_member(tenant: Tenant | None, name: str = "ada") -> User:
    """Return a user who is a member of the tenant, if one is given."""
    user = User.objects.create_user(name, password="secret")
    if tenant is not None:
        Membership.objects.create(user=user, tenant=tenant, role="operator")
    return user


def log_in(user: User, **session: Any) -> str:
    """Return the Cookie header of a new session that also holds the values."""
    client = Client()
    client.force_login(user)
    stored = client.session
    stored.update(session)
    stored.save()
    return f"sessionid={client.cookies['sessionid'].value}"


def communicator(
    cookie: str = "",
    *,
    origin: str | None = ORIGIN,
    path: str = "/ws/live",
    address: str = "127.0.0.1",
) -> Socket:
    """Return a socket that is not opened yet."""
    headers = [(b"host", b"localhost:8000"), (b"cookie", cookie.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    place, _, query = path.partition("?")
    scope = {
        "type": "websocket",
        "path": place,
        "client": (address, 50_000),
        "query_string": query.encode(),
        "headers": headers,
        "subprotocols": [],
    }
    return Socket(websocket_application, scope)


@asynccontextmanager
async def live_socket(cookie: str = "", **how: Any) -> AsyncIterator[Socket]:
    """Open a socket that has said hello; closed at the end."""
    socket = communicator(cookie, **how)
    connected, code = await socket.connect()
    assert connected, code
    hello = await socket.receive_json()
    assert hello["topic"] == "hello"
    try:
        yield socket
    finally:
        await socket.disconnect()


async def refusal(cookie: str = "", **how: Any) -> int:
    """Open a socket that is accepted and then closed; return the code."""
    socket = communicator(cookie, **how)
    connected, code = await socket.connect()
    assert connected, code
    return await closing_code(socket)


async def closing_code(socket: Socket) -> int:
    """Wait until the server closes the socket; return the code."""
    while True:
        message = await socket.receive_output(60)
        if message["type"] == "websocket.close":
            await socket.disconnect()
            return int(message["code"])
