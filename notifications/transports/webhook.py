"""Sends one notice to a webhook, signed as a tenant's other webhooks are (Standard Webhooks)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from delivery.errors import DeliveryError
from delivery.headers import JSON, USER_AGENT
from delivery.http_messages import Request
from delivery.one_call import call_once
from delivery.signing import sign
from notifications.transports.answers import Answer, answer_of, refusal_of, unreached
from notifications.transports.errors import TransportError
from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url
from shared.conf import conf

TIMEOUT_SECONDS = 10.0
CAPTURED_BYTES = 2048


def check_webhook_url(url: str) -> TargetUrl:
    """Return the URL as it would be called; raise UrlError for one that a target may not have."""
    return parse_target_url(url, allowed_networks(), conf().webhook_allowed_ports)


def allowed_networks() -> AllowList:
    """Return the networks that the operator allows besides public ones."""
    return AllowList(conf().webhook_allowed_networks)


def send_webhook(
    url: str, document: Any, *, message_id: str, timestamp: int, secrets: Sequence[bytes]
) -> Answer:
    """Post the document as JSON and return the answer; raise TransportError for any but a 2xx.

    ``timestamp`` is in Unix seconds. ``message_id`` stays the same when a message is sent again.
    """
    try:
        called = check_webhook_url(url)
    except UrlError as error:
        raise TransportError(error.message, permanent=True) from error
    body = orjson.dumps(document)
    headers = [
        ("User-Agent", USER_AGENT),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("Content-Type", JSON),
    ]
    if secrets:
        headers.append(("webhook-signature", sign(secrets, message_id, timestamp, body)))
    request = Request(
        method="POST",
        url=called,
        headers=headers,
        body=body,
        connect_timeout=TIMEOUT_SECONDS / 2,
        timeout=TIMEOUT_SECONDS,
        capture_bytes=CAPTURED_BYTES,
    )
    try:
        response = call_once(request, allowed_networks())
    except DeliveryError as error:
        raise unreached(error) from error
    answer = answer_of(response, url)
    if not 200 <= answer.status < 300:
        raise refusal_of(answer, response)
    return answer
