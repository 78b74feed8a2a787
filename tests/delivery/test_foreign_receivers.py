"""What a real receiver gets is read by the code of others: the standards' own libraries."""

from __future__ import annotations

import base64
import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from standardwebhooks import Webhook, WebhookVerificationError

from delivery.attempt import Deliverer
from shared.encryption import seal, seal_json
from shared.ids import new_id
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS
from tenants.signing import new_signing_secret
from tests.delivery.calls import LOOPBACK, http_client
from tests.delivery.sites import Answer, Received, site

TENANT, TASK = str(uuid4()), str(uuid4())


def text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


async def receive(
    payload: Any, *secrets: str, execution: UUID | None = None, attempt: int = 1, **target: Any
) -> Received:
    """Deliver an execution to a receiver and return what arrived there."""
    sealed = seal_json({"headers": {}, "payload": payload}, f"revision:{TASK}:1".encode())
    batch: Any = {
        "offset": 0.0,
        "secrets": {
            TENANT: [
                text(seal(one.encode(), f"signing-secret:{TENANT}".encode())) for one in secrets
            ]
        },
    }
    async with site(lambda _: Answer(204)) as running, http_client() as client:
        entry: Any = {
            "id": str(execution or new_id()),
            "tenant": TENANT,
            "task": TASK,
            "revision": 1,
            "token": 7,
            "attempt": attempt,
            "max_attempts": 5,
            "scheduled_for": time.time(),
            "url": f"http://127.0.0.1:{running.port}/",
            "target": {**TARGET_DEFAULTS, **target},
            "retry_policy": RETRY_DEFAULTS,
            "sealed": text(sealed),
            "payload": None,
            "progress": None,
            "named": {"name": "n", "labels": {}, "last_success_at": None},
        }
        outcome = await Deliverer(client, LOOPBACK).deliver(entry, batch, time.time())
    assert outcome["verb"] == "succeeded"
    return running.requests[0]


def span(received: Received) -> trace.SpanContext:
    context = TraceContextTextMapPropagator().extract(received.headers)
    return trace.get_current_span(context).get_span_context()


@pytest.mark.parametrize(
    ("payload", "target"),
    [
        ({"text": "ü ☃", "n": [1, 2.5, None]}, {}),
        ({"n": "{{ attempt }}"}, {"template": True}),
        ('{"raw":  true}', {"body_format": "raw"}),
    ],
)
async def test_the_signature_is_verified_by_the_standards_library(payload: Any, target: Any):
    secret, other = new_signing_secret(), new_signing_secret()

    received = await receive(payload, secret, **target)

    assert Webhook(secret).verify(received.body, received.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(received.body, received.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(received.body + b" ", received.headers)


async def test_during_a_rotation_either_secret_verifies():
    old, new = new_signing_secret(), new_signing_secret()

    received = await receive({"n": 1}, new, old)

    for secret in (old, new):
        assert Webhook(secret).verify(received.body, received.headers) == {"n": 1}


async def test_the_traceparent_is_read_by_open_telemetry():
    execution = new_id()

    first = span(await receive(None, execution=execution))
    second = span(await receive(None, execution=execution, attempt=2))

    assert first.is_valid
    assert first.is_remote
    assert first.trace_flags.sampled
    assert first.trace_id == second.trace_id == execution.int
    assert first.span_id != second.span_id


@pytest.mark.parametrize(
    "execution",
    [
        *(UUID(int=1 << 64 | 1), UUID(int=(1 << 128) - 1), UUID(int=1 << 127 | 1)),
        *(UUID(int=1), UUID(int=(1 << 64) - 1)),
    ],
)
@pytest.mark.parametrize("attempt", [1, 2, 25])
async def test_every_id_makes_a_valid_traceparent(execution: UUID, attempt: int):
    found = span(await receive(None, execution=execution, attempt=attempt))

    assert found.is_valid
    assert found.trace_id == execution.int
