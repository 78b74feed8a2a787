"""Checks of the ways to people: mail, the channel layer, the console's live socket."""

from __future__ import annotations

import asyncio
import http.client
import smtplib
from urllib.parse import urlsplit
from uuid import uuid4

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.mail import get_connection

from launcher import local_state
from launcher.run_lock import holder
from operations.doctor.finding import Finding, bad, good, odd
from shared.commands import first_line

LIVE_PATH = "/ws/live"
_SECONDS = 3.0
_SMTP = "smtp"
# A socket of this version of the protocol (RFC 6455); the key is the one of its example.
_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
#: Opened, or refused because the call has no login: the route exists.
_THERE = (101, 401, 403)


def mail() -> Finding:
    """Check that the mail server answers and accepts the login, so that alerts can be sent."""
    backend = settings.EMAIL_BACKEND
    if _SMTP not in backend.rpartition(".")[0]:
        where = backend.split(".")[-2]
        return good("mail", f"messages go to {where}; no mail server is set")
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    connection = get_connection(timeout=_SECONDS)
    try:
        connection.open()
        connection.close()
    except (OSError, smtplib.SMTPException) as error:
        remedy = "See the EMAIL settings in `manage.py config show`; alerts wait meanwhile."
        return bad("mail", f"{place} does not take mail: {first_line(error)}", remedy)
    return good("mail", f"{place} answers")


def channel_layer() -> Finding:
    """Check that a live message comes back through Redis' pub/sub."""
    try:
        asyncio.run(_go_around())
    except TimeoutError:
        evidence = f"no message came back within {_SECONDS:g} s"
        return bad("live messages", evidence, "See that the server of REDIS_URL takes pub/sub.")
    except (OSError, redis.RedisError) as error:
        remedy = "See the check of redis; open pages ask again by themselves meanwhile."
        return bad("live messages", f"cannot be sent: {first_line(error)}", remedy)
    return good("live messages", "a message went around")


async def _go_around() -> None:
    layer = get_channel_layer()
    group = f"doctor.{uuid4().hex}"
    async with asyncio.timeout(_SECONDS):
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        await layer.group_send(group, {"type": "doctor"})
        await layer.receive(channel)
        await layer.group_discard(group, channel)


def live_socket() -> Finding:
    """Check that the web process that `up` runs here answers on the live route."""
    directory = local_state.data_dir()
    url = local_state.load_runtime(directory).get("public_url", "")
    if holder(directory) is None or not url:
        return good("live socket", f"`up` does not run on the data directory {directory}")
    try:
        status = _ask(url)
    except (OSError, http.client.HTTPException) as error:
        remedy = "See the lines of the web process in the output of `up`."
        return bad("live socket", f"{url} does not answer: {first_line(error)}", remedy)
    evidence = f"{url}{LIVE_PATH} answers {status}"
    if status not in _THERE:
        return odd("live socket", evidence, "Pages refresh by polling; restart the web process.")
    return good("live socket", evidence)


def _ask(url: str) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", LIVE_PATH, headers={**_UPGRADE, "Origin": url})
        return connection.getresponse().status
    finally:
        connection.close()
