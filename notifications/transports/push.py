"""Sends one browser push: encrypted for the browser (RFC 8291), signed as this server (RFC 8292).

The endpoint is an address that a member gave, so the request leaves through the client of
webhooks, whose guard refuses addresses that are not public. pywebpush is imported at first use:
the import takes half a second, and a process that sends no push need not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from delivery.errors import DeliveryError
from delivery.http_messages import Request, Response
from delivery.one_call import call_once
from delivery.retry_after import asked_by
from notifications.transports.errors import TransportError
from notifications.transports.vapid import authorization
from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url
from shared.conf import conf

_TIMEOUT_SECONDS = 10.0
#: How long a push service keeps a message for a browser that is off.
_KEPT_SECONDS = {True: 24 * 3600, False: 4 * 3600}
_GONE = (404, 410)


class SubscriptionGone(TransportError):
    """The browser has ended the subscription."""


@dataclass(frozen=True, slots=True)
class PushMessage:
    """A push message; a later one of the same topic replaces one not yet fetched."""

    title: str
    body: str
    url: str
    topic: str
    urgent: bool

    def encode(self) -> bytes:
        """Return the JSON that the service worker reads."""
        parts = {"title": self.title, "body": self.body, "url": self.url, "tag": self.topic}
        return orjson.dumps(parts)


def check_endpoint(endpoint: str) -> TargetUrl:
    """Return the endpoint as it would be called; raise UrlError for a forbidden one.

    Plain HTTP is allowed only to a literal address that the operator allows, for tests.
    """
    allow = AllowList(conf().webhook_allowed_networks)
    url = parse_target_url(endpoint, allow, conf().webhook_allowed_ports)
    allowed = url.literal is not None and allow.allows(url.literal, url.port)
    if url.scheme != "https" and not allowed:
        raise UrlError("url_invalid", "The endpoint must be https.")
    return url


def send_push(endpoint: str, p256dh: str, auth: str, message: PushMessage) -> None:
    """Hand the message to the push service; raise TransportError, or SubscriptionGone."""
    try:
        url = check_endpoint(endpoint)
    except UrlError as error:
        raise TransportError(error.message, permanent=True) from error
    request = _request(url, endpoint, {"p256dh": p256dh, "auth": auth}, message)
    try:
        response = call_once(request, AllowList(conf().webhook_allowed_networks))
    except DeliveryError as error:
        permanent = error.code == "address_forbidden"
        raise TransportError(f"The push service: {error.message}", permanent=permanent) from error
    _judge(response)


def _request(url: TargetUrl, endpoint: str, keys: dict[str, str], message: PushMessage) -> Request:
    from pywebpush import WebPusher

    try:
        encrypted = WebPusher({"endpoint": endpoint, "keys": keys}).encode(message.encode())
    except Exception as error:
        raise TransportError(
            f"The browser's keys cannot be used: {type(error).__name__}", permanent=True
        ) from error
    headers = [
        ("Authorization", authorization(f"{url.scheme}://{url.authority}")),
        ("Content-Encoding", "aes128gcm"),
        ("Content-Type", "application/octet-stream"),
        ("TTL", str(_KEPT_SECONDS[message.urgent])),
        ("Urgency", "high" if message.urgent else "normal"),
        ("Topic", message.topic),
    ]
    return Request(
        method="POST",
        url=url,
        headers=headers,
        body=encrypted["body"],
        connect_timeout=_TIMEOUT_SECONDS / 2,
        timeout=_TIMEOUT_SECONDS,
        capture_bytes=2048,
    )


def _judge(response: Response) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    if status in _GONE:
        raise SubscriptionGone(f"The browser has unsubscribed (HTTP {status}).", permanent=True)
    temporary = status == 429 or status >= 500
    raise TransportError(
        f"The push service answered HTTP {status}.",
        permanent=not temporary,
        retry_after=asked_by(response) if temporary else None,
    )
