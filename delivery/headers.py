"""The headers that a webhook's receiver gets, in one list.

Called once per attempt by the run stage. The names are a promise of the public API; they are
reserved in ``shared.http_headers``, so a user's headers never repeat one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delivery.signing import sign
from shared.addresses import as_sent
from shared.conf import conf
from shared.trace_context import SAMPLED, TraceContext, span_of

USER_AGENT = "Punctual-Webhooks/1"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


# Made for every attempt: a frozen one takes three times as long.
@dataclass(slots=True)
class AttemptFacts:
    """The facts that the headers of one attempt carry."""

    execution_id: str
    task_id: str
    attempt: int
    #: RFC 3339, UTC, milliseconds: ``2026-11-20T08:00:00.000Z``.
    scheduled_for: str
    fencing_token: int
    traceparent: str
    user_headers: Sequence[tuple[str, str]] = ()
    #: These three only with ``completion: callback``.
    execution_token: str | None = None
    callback_url: str | None = None
    #: The job's last progress, as ASCII JSON.
    progress: str | None = None
    #: The state that other tracers added, where the execution continues a trace.
    tracestate: str = ""
    #: The type of a body whose definition names none.
    content_type: str = JSON


def build_headers(
    facts: AttemptFacts, *, secrets: Sequence[bytes], timestamp: int, body: bytes
) -> list[tuple[str, str]]:
    """Return all headers but those that frame the message; the body is signed as it is sent.

    ``timestamp`` is the time of this attempt in Unix seconds. Without a secret there is no
    signature. The user's headers come last; Content-Type is theirs to choose.
    """
    message_id = facts.execution_id
    headers = [
        ("User-Agent", USER_AGENT),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("Idempotency-Key", message_id),
        ("X-Idempotency-Key", message_id),
        ("X-Scheduler-Task-Id", facts.task_id),
        ("X-Scheduler-Attempt", str(facts.attempt)),
        ("X-Scheduler-Scheduled-For", facts.scheduled_for),
        ("X-Scheduler-Fencing-Token", str(facts.fencing_token)),
        ("traceparent", facts.traceparent),
    ]
    if facts.tracestate and not any(name.lower() == "tracestate" for name, _ in facts.user_headers):
        headers.append(("tracestate", facts.tracestate))
    if secrets:
        headers.append(("webhook-signature", sign(secrets, message_id, timestamp, body)))
    if facts.execution_token is not None:
        headers.append(("X-Execution-Token", facts.execution_token))
    if facts.callback_url is not None:
        headers.append(("X-Scheduler-Callback-Url", facts.callback_url))
    if facts.progress is not None:
        headers.append(("X-Scheduler-Progress", facts.progress))
    if body and not any(name.lower() == "content-type" for name, _ in facts.user_headers):
        headers.append(("Content-Type", facts.content_type))
    headers.extend(facts.user_headers)
    return headers


def traceparent(execution_id: str, attempt: int, context: TraceContext | None = None) -> str:
    """Return a W3C traceparent: one span per attempt, in the trace that the attempt belongs to.

    Without one the execution is a trace of its own.
    """
    own = execution_id.replace("-", "")
    if context is None:
        return f"00-{own}-{span_of(own, attempt)}-{SAMPLED}"
    return context.traceparent(span_of(own, attempt))


def callback_url_of(execution_id: str) -> str:
    """Return the URL under which a receiver heartbeats and ends the execution."""
    return as_sent(f"{conf().public_url.rstrip('/')}/v1/executions/{execution_id}")
