"""Send a definition's request once, now, so that a person sees what comes of it.

One real, signed delivery from the calling process, by the product's own client and its address
guard, marked ``X-Scheduler-Test: true``. It makes no execution and no statistics. Nothing here
may be called within a transaction: it waits for the receiver for up to ten seconds.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

import orjson

from events import audit
from executions.delivery.address_guard import AddressGuard
from executions.delivery.errors import DeliveryError, ErrorCode
from executions.delivery.headers import AttemptFacts, build_headers, traceparent
from executions.delivery.http_client import HttpClient, Request, Response
from executions.delivery.outcome import Outcome, classify
from executions.delivery.signing import parse_secret
from executions.engine.clocks import database_now
from executions.exchange import mask_headers
from shared.actor import Actor
from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url
from shared.conf import conf
from shared.exceptions import FieldError, InvalidInput, QuotaExceeded
from shared.ids import new_id
from shared.instants import format_instant
from shared.redaction import redact_text
from tasks.calendars import limits_of
from tasks.definition import Definition
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation import parse_create
from tenants.services.signing_secrets import active_signing_secrets
from tenants.signing import open_signing_secret

#: Longest wait for a receiver, whatever the target's timeout says.
DEADLINE_SECONDS = 10.0
MARK = ("X-Scheduler-Test", "true")
#: Part of the answer's body that is shown.
EXCERPT_BYTES = 16 * 1024
#: Tests under way per process: each holds a thread and a connection to the database.
_AT_ONCE = BoundedSemaphore(4)
_BODILESS = ("GET", "HEAD")
#: The task's id in the headers while there is no task.
_NO_TASK = UUID(int=0)


class TooManyTests(QuotaExceeded):
    """Other tests are under way; try again in a moment."""

    code = "too_many_tests"
    retry_after = 2


@dataclass(frozen=True, slots=True)
class TestResult:
    """What was sent and what came of it; secrets are masked, timings are milliseconds by phase.

    ``request`` has method, url, headers and body; ``response`` (None without a complete answer)
    status, headers, body as text and whether it was cut.
    """

    #: Not a class of tests, whatever its name says.
    __test__ = False

    outcome: str
    would_retry: bool
    error_code: str
    error_message: str
    request: dict[str, Any]
    response: dict[str, Any] | None
    timings: dict[str, float]


def send_test(tenant_id: UUID, definition_body: Any, *, actor: Actor) -> TestResult:
    """Send what a task of this body would send; raise what creating it would raise."""
    now = database_now()
    definition = parse_create(definition_body, now=now, limits=limits_of(tenant_id))
    return _send(tenant_id, None, definition, actor)


def send_test_of_task(tenant_id: UUID, task_id: UUID, *, actor: Actor) -> TestResult:
    """Send what the task sends; raise NotFound when there is none."""
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    return _send(tenant_id, task_id, read_definition(task), actor)


def _send(
    tenant_id: UUID, task_id: UUID | None, definition: Definition, actor: Actor
) -> TestResult:
    url = _checked_url(definition)
    now = database_now()
    request = _request(definition, url, _headers(tenant_id, task_id, definition, now))
    with _one_of_few():
        # Written before anything is sent, so that no call leaves without a trace.
        audit.record(
            tenant_id,
            actor,
            "task.tested",
            "task" if task_id else "tenant",
            task_id or tenant_id,
            after={"method": request.method, "host": url.host},
        )
        result = asyncio.run(_exchange(request))
    verdict = classify(
        result,
        success_statuses=definition.target["success"]["statuses"],
        retry_on=definition.retry_policy["retry_on"],
        now=now,
    )
    return _shown(definition, request, result, verdict)


def _checked_url(definition: Definition) -> TargetUrl:
    if definition.target["kind"] != "webhook":
        message = "Only a webhook can be tested."
        raise InvalidInput([FieldError("#/target/kind", "not_a_webhook", message)], message)
    allow = AllowList(conf().webhook_allowed_networks)
    try:
        return parse_target_url(definition.target["url"], allow, conf().webhook_allowed_ports)
    except UrlError as error:
        # A task that is stored may name what the settings of today refuse.
        field = FieldError("#/target/url", error.code, error.message)
        raise InvalidInput([field], error.message) from error


def _headers(
    tenant_id: UUID, task_id: UUID | None, definition: Definition, now: datetime
) -> list[tuple[str, str]]:
    execution = new_id()
    facts = AttemptFacts(
        execution_id=str(execution),
        task_id=str(task_id or _NO_TASK),
        attempt=1,
        scheduled_for=format_instant(now),
        fencing_token=0,
        traceparent=traceparent(execution, 1),
        user_headers=[MARK, *definition.target["headers"].items()],
    )
    sealed = active_signing_secrets([tenant_id]).get(tenant_id, [])
    secrets = [parse_secret(open_signing_secret(blob, tenant_id)) for blob in sealed]
    timestamp = int(now.timestamp())
    return build_headers(facts, secrets=secrets, timestamp=timestamp, body=_body(definition))


def _body(definition: Definition) -> bytes:
    if definition.target["method"] in _BODILESS or definition.payload is None:
        return b""
    return orjson.dumps(definition.payload)


def _request(definition: Definition, url: TargetUrl, headers: list[tuple[str, str]]) -> Request:
    target = definition.target
    return Request(
        method=target["method"],
        url=url,
        headers=headers,
        body=_body(definition),
        connect_timeout=min(target["connect_timeout_seconds"], DEADLINE_SECONDS),
        timeout=min(target["timeout_seconds"], DEADLINE_SECONDS),
        capture_bytes=min(conf().response_capture_bytes, EXCERPT_BYTES),
    )


async def _exchange(request: Request) -> Response | DeliveryError:
    guard = AddressGuard(AllowList(conf().webhook_allowed_networks))
    client = HttpClient(guard, ssl_context=_ssl_context())
    try:
        return await client.send(request)
    except DeliveryError as error:
        return error
    except ValueError as error:
        code: ErrorCode = "internal"
        return DeliveryError(code, str(error))
    finally:
        await client.close()
        guard.close()


def _shown(
    definition: Definition, request: Request, result: Response | DeliveryError, verdict: Outcome
) -> TestResult:
    sent = {
        "method": request.method,
        "url": redact_text(definition.target["url"]),
        "headers": _masked(request.headers),
        "body": definition.payload if request.body else None,
    }
    return TestResult(
        outcome=verdict.outcome,
        would_retry=verdict.kind == "retryable",
        error_code=verdict.error_code or "",
        error_message=redact_text(verdict.error_message or ""),
        request=sent,
        response=_answer(result) if isinstance(result, Response) else None,
        timings=dict(result.timings),
    )


def _answer(response: Response) -> dict[str, Any]:
    return {
        "status": response.status,
        "headers": _masked(response.headers),
        "body": redact_text(response.body.decode("utf-8", "replace")),
        "truncated": response.truncated,
    }


def _masked(headers: Any) -> dict[str, str]:
    return {name: redact_text(value) for name, value in mask_headers(headers).items()}


@contextmanager
def _one_of_few() -> Iterator[None]:
    if not _AT_ONCE.acquire(blocking=False):
        raise TooManyTests
    try:
        yield
    finally:
        _AT_ONCE.release()


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return the context of all tests: reading the system's certificates takes a while."""
    return ssl.create_default_context()
