"""The request and answer of an attempt as people may see them, with secret headers masked.

Presentation calls this. It rebuilds the request from the definition's version and the attempt, by
the same list of headers that the worker sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from delivery.auth import AUTHORIZATION
from delivery.headers import (
    JSON,
    TEXT,
    AttemptFacts,
    build_headers,
    callback_url_of,
    traceparent,
)
from executions.models import Attempt, Execution
from executions.payloads import response_of, shown_body
from shared.addresses import as_sent
from shared.field_redaction import redacted_text
from shared.http_headers import is_secret_header
from shared.http_methods import BODILESS
from shared.instants import format_instant
from shared.payload_sight import HIDDEN, hide, hide_url, is_hidden
from shared.redaction import MASK
from shared.templates import names_in, render
from shared.tracing.sampling import context_of_attempt

__all__ = [
    "captured_response",
    "mask_headers",
    "planned_request",
    "proof_headers",
    "sent_request",
    "shown_body",
    "shown_url",
    "with_body",
]


def mask_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by name, repeated ones joined, with the values of secret ones masked."""
    shown: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for name, value in headers:
        key = spelled.setdefault(name.lower(), name)
        if is_secret_header(name):
            shown[key] = MASK
        else:
            shown[key] = f"{shown[key]}, {value}" if key in shown else value
    return shown


def proof_headers(target: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that the target's authentication adds, masked."""
    auth = target.get("auth")
    if auth is None or (auth["type"] == "api_key" and auth["in"] == "query"):
        return {}
    return {auth["name"] if auth["type"] == "api_key" else AUTHORIZATION: MASK}


def shown_url(url: str, target: Mapping[str, Any]) -> str:
    """Return the URL; an API key in its query is masked."""
    auth = target.get("auth")
    if auth is None or auth["type"] != "api_key" or auth["in"] != "query" or is_hidden():
        return hide_url(url)
    joint = "&" if urlsplit(url).query else "?"
    return f"{url.partition('#')[0]}{joint}{quote(auth['name'], safe='')}={MASK}"


def planned_request(target: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the known parts of a webhook's request before an attempt; None for other kinds."""
    if target["kind"] != "webhook":
        return None
    return {
        "method": target["method"],
        "url": shown_url(_as_sent(target["url"]), target),
        "headers": {**_seen(mask_headers(_own_headers(target, {}))), **proof_headers(target)},
    }


def sent_request(
    target: Mapping[str, Any], execution: Execution, attempt: Attempt
) -> dict[str, Any] | None:
    """Return the request of a webhook's attempt, without its body; None for other kinds.

    Names of templates whose values are not kept (labels, the last success) stay as written.
    """
    if target["kind"] != "webhook":
        return None
    scheduled_for = format_instant(execution.scheduled_for)
    known = {"scheduled_for": scheduled_for, "attempt": str(attempt.number)}
    callback = target["completion"] == "callback"
    context = context_of_attempt(str(execution.id), execution.trace_context, attempt.number)
    facts = AttemptFacts(
        execution_id=str(execution.id),
        task_id=str(execution.task_id),
        attempt=attempt.number,
        scheduled_for=scheduled_for,
        fencing_token=attempt.fencing_token,
        traceparent=traceparent(str(execution.id), attempt.number, context),
        tracestate=context.state,
        user_headers=list(_seen(mask_headers(_own_headers(target, known))).items()),
        execution_token=MASK if callback else None,
        callback_url=callback_url_of(str(execution.id)) if callback else None,
        content_type=TEXT if target["body_format"] == "raw" else JSON,
    )
    at = attempt.started_at or attempt.finished_at
    body = b"" if target["method"] in BODILESS else b"..."
    headers = build_headers(facts, secrets=(), timestamp=int(at.timestamp()), body=body)
    url = _filled(target, target["url"], {key: quote(known[key], safe="") for key in known})
    return {
        "method": target["method"],
        "url": shown_url(_as_sent(url), target),
        "headers": {**dict(headers), **proof_headers(target), "webhook-signature": MASK},
    }


def _as_sent(url: str) -> str:
    """Return the URL in the spelling in which it is sent; names of templates stay as written."""
    return url if names_in(url) else as_sent(url)


def with_body(request: dict[str, Any] | None, payload: Any) -> dict[str, Any] | None:
    """Return the request with its body; no body where its method carries none."""
    if request is None:
        return None
    return {**request, "body": None if request["method"] in BODILESS else hide(payload)}


def captured_response(attempt: Attempt, redact: Sequence[str]) -> dict[str, Any] | None:
    """Return the answer that an attempt got, or None when there was none.

    ``redact`` has the paths of the fields of its body that are masked.
    """
    found = response_of(attempt)
    if found is None:
        return None
    headers = _seen(mask_headers(found["headers"]))
    body = redacted_text(found["body"], redact, truncated=found["truncated"])
    return {**found, "headers": headers, "body": hide(body)}


def _seen(headers: dict[str, str]) -> dict[str, str]:
    """Return headers, only their names without the right to see payloads."""
    return dict.fromkeys(headers, HIDDEN) if is_hidden() else headers


def _own_headers(target: Mapping[str, Any], known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the user's headers, except the ones that the authentication replaces."""
    replaced = {name.lower() for name in proof_headers(target)}
    return [
        (name, _filled(target, value, known))
        for name, value in target["headers"].items()
        if name.lower() not in replaced
    ]


def _filled(target: Mapping[str, Any], text: str, known: Mapping[str, str]) -> str:
    """Return the text with the known names replaced, where the target has templates."""
    if not target["template"]:
        return text
    as_written = {name: "{{ " + name + " }}" for name in names_in(text)}
    return render(text, {**as_written, **known})
