"""What an attempt sent and got, as people may see it: the values of secret headers are masked.

Presentation calls this; the request is put together again from the definition's version and the
attempt, by the same list of headers that the worker sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from executions.delivery.headers import AttemptFacts, build_headers, traceparent
from executions.models import Attempt, Execution
from executions.payloads import response_of
from shared.instants import format_instant
from shared.redaction import MASK

_BODILESS = ("GET", "HEAD")
_SECRET_NAME = re.compile(
    r"authorization|cookie|token|secret|passw|signature|credential|private|"
    r"(api|access)[-_]?key|(^|[-_])(auth|key)($|[-_])",
    re.IGNORECASE,
)


def is_secret_header(name: str) -> bool:
    """Return whether a header of this name is likely to carry a secret."""
    return _SECRET_NAME.search(name) is not None


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


def planned_request(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of a definition: what is known of it before an attempt."""
    return {
        "method": target["method"],
        "url": target["url"],
        "headers": mask_headers(target["headers"].items()),
    }


def sent_request(
    target: Mapping[str, Any], execution: Execution, attempt: Attempt
) -> dict[str, Any]:
    """Return the request that an attempt made, without its body."""
    facts = AttemptFacts(
        execution_id=str(execution.id),
        task_id=str(execution.task_id),
        attempt=attempt.number,
        scheduled_for=format_instant(execution.scheduled_for),
        fencing_token=attempt.fencing_token,
        traceparent=traceparent(execution.id, attempt.number),
        user_headers=list(mask_headers(target["headers"].items()).items()),
    )
    at = attempt.started_at or attempt.finished_at
    body = b"" if target["method"] in _BODILESS else b"..."
    headers = build_headers(facts, secrets=(), timestamp=int(at.timestamp()), body=body)
    return {
        "method": target["method"],
        "url": target["url"],
        "headers": {**dict(headers), "webhook-signature": MASK},
    }


def with_body(request: dict[str, Any], payload: Any) -> dict[str, Any]:
    """Return the request with what it carries; nothing where its method carries none."""
    return {**request, "body": None if request["method"] in _BODILESS else payload}


def captured_response(attempt: Attempt) -> dict[str, Any] | None:
    """Return the answer that an attempt got, or None when there was none."""
    found = response_of(attempt)
    return None if found is None else {**found, "headers": mask_headers(found["headers"])}
