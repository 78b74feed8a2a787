"""Writes the request of a plain call in one pass: one text, with what its shape fixes kept.

A plain call is one request to a fixed URL that no proof, redirect, callback or foreign trace
changes, as most are. Its bytes are those that ``compose`` and ``encode_request`` make; a test holds
them equal. Everything else is made by those two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from delivery.headers import USER_AGENT, traceparent
from delivery.http_messages import Request, checked_name, encode_head, needs_length
from delivery.plan import Call, Plan
from delivery.signing import sign
from shared.addresses import TargetUrl
from shared.conf import conf
from shared.trace_context import TraceContext
from wire.messages import Entry

#: Lines that every plain request has behind its head.
_LINES = 10


def is_plain(plan: Plan, entry: Entry) -> bool:
    """Return whether :func:`write` makes the whole call of the entry."""
    return plan.is_plain and "trace" not in entry


def call_of(plan: Plan) -> Request:
    """Return where and for how long a plain call goes; :func:`write` has its headers and body."""
    request = _call(plan).request
    return request if plan.route is None else replace(request, route=plan.route)


def write(
    plan: Plan,
    entry: Entry,
    *,
    scheduled_for: str,
    timestamp: int,
    secrets: Sequence[bytes],
    body: bytes,
    context: TraceContext | None = None,
) -> bytes:
    """Return the bytes to send; ValueError when a part could break the framing.

    Without a context the execution is a trace of its own.
    """
    shape, head = plan.shape, _call(plan).head
    execution, attempt = entry["id"], entry["attempt"]
    fields = (
        f"User-Agent: {USER_AGENT}\r\n"
        f"webhook-id: {execution}\r\n"
        f"webhook-timestamp: {timestamp}\r\n"
        f"Idempotency-Key: {execution}\r\n"
        f"X-Idempotency-Key: {execution}\r\n"
        f"X-Scheduler-Task-Id: {entry['task']}\r\n"
        f"X-Scheduler-Attempt: {attempt}\r\n"
        f"X-Scheduler-Scheduled-For: {scheduled_for}\r\n"
        f"X-Scheduler-Fencing-Token: {entry['token']}\r\n"
        f"traceparent: {traceparent(execution, attempt, context)}\r\n"
    )
    lines = _LINES
    if secrets:
        fields += f"webhook-signature: {sign(secrets, execution, timestamp, body)}\r\n"
        lines += 1
    typed = not body
    if plan.headers:
        typed = typed or any(name.lower() == "content-type" for name, _ in plan.headers)
    if not typed:
        fields += f"Content-Type: {plan.content_type}\r\n"
        lines += 1
    for name, value in plan.headers:
        fields += f"{checked_name(name)}: {value}\r\n"
        lines += 1
    if fields.count("\r") != lines or fields.count("\n") != lines or "\0" in fields:
        raise ValueError("a header value holds CR, LF or NUL")
    if needs_length(shape.target["method"], body):
        return f"{head}Content-Length: {len(body)}\r\n{fields}\r\n".encode() + body
    return f"{head}{fields}\r\n".encode() + body


def _call(plan: Plan) -> Call:
    shape, url = plan.shape, plan.url
    known = shape.call
    if known is None or known.url is not url:
        assert url is not None  # noqa: S101 - is_plain has asked
        known = shape.call = _made(shape.target, url)
    return known


def _made(target: Mapping[str, Any], url: TargetUrl) -> Call:
    request = Request(
        method=target["method"],
        url=url,
        headers=(),
        body=b"",
        connect_timeout=target["connect_timeout_seconds"],
        timeout=target["timeout_seconds"],
        capture_bytes=conf().response_capture_bytes,
    )
    return Call(url, encode_head(target["method"], url), request)
