"""Send a definition's request once, now, so that a person sees the result.

One real, signed delivery from the calling process, by the product's own client and its address
guard, marked ``X-Scheduler-Test: true``. It makes no execution and no statistics. Do not call it
within a transaction: it waits for the receiver for up to ten seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

import orjson

from delivery.address_guard import AddressGuard
from delivery.caller import Caller
from delivery.errors import DeliveryError
from delivery.headers import AttemptFacts, callback_url_of, traceparent
from delivery.http_client import HttpClient, Request, Response
from delivery.masked_answer import judged_answer
from delivery.outcome import Outcome
from delivery.plan import Moment, Plan, compose, read_plan, template_values
from delivery.signing import parse_secret
from events import audit
from executions.loop.clocks import database_now
from executions.request_view import mask_headers, proof_headers, shown_body, shown_url
from executions.triggering.receiver_target import aimed_at_receiver, request_received
from shared import execution_tokens
from shared.actor import Actor
from shared.addresses import AllowList, UrlError
from shared.conf import conf
from shared.exceptions import FieldError, InvalidInput, QuotaExceeded
from shared.field_redaction import redacted, redacted_text
from shared.ids import new_id
from shared.instants import format_instant
from shared.named_secrets.opened import SecretUnavailable
from shared.redaction import MASK, redact_text
from shared.trace_context import from_text
from tasks.calendars import limits_of
from tasks.definition import Definition
from tasks.models import Task
from tasks.named_secrets.reading import secrets_for
from tasks.revisions import read_definition
from tasks.validation.bodies import parse_copy, parse_create
from tenants.services.signing_secrets import active_signing_secrets
from tenants.signing import open_signing_secret
from tenants.suspension import require_active

#: Longest wait for a receiver, even if the target's timeout is longer.
DEADLINE_SECONDS = 10.0
MARK = ("X-Scheduler-Test", "true")
#: Part of the answer's body that is shown.
EXCERPT_BYTES = 16 * 1024
#: Tests under way per process: each holds a thread and a connection to the database.
_AT_ONCE = BoundedSemaphore(4)
#: The task's id in the headers while there is no task.
_NO_TASK = UUID(int=0)


class TooManyTests(QuotaExceeded):
    """Other tests are under way; try again in a moment."""

    code = "too_many_tests"
    retry_after = 2


@dataclass(frozen=True, slots=True)
class TestResult:
    """The sent request and its result; secrets are masked, timings are milliseconds by phase.

    ``request`` has method, url, headers and body; ``response`` (None without a complete answer)
    status, headers, body as text and whether it was cut. ``received`` is the request as it
    arrived at the built-in receiver, of a test that went there.
    """

    #: Not a class of tests, despite its name.
    __test__ = False

    outcome: str
    would_retry: bool
    error_code: str
    error_message: str
    request: dict[str, Any]
    response: dict[str, Any] | None
    timings: dict[str, float]
    received: dict[str, Any] | None = None


def send_test(
    tenant_id: UUID,
    definition_body: Any,
    *,
    actor: Actor,
    source: Definition | None = None,
    receiver_path: str | None = None,
) -> TestResult:
    """Send the request of a task with this body; raise the errors of creating it.

    A masked secret is taken from ``source``, from which the body was made. With a
    ``receiver_path`` the request goes to the tenant's own address of the built-in receiver instead,
    without the target's secrets; raise NoReceiver where none runs.
    """
    now, limits = database_now(), limits_of(tenant_id)
    if source is None:
        definition = parse_create(definition_body, now=now, limits=limits)
    else:
        definition = parse_copy(source, definition_body, now=now, limits=limits)
    return _send_to(receiver_path, tenant_id, None, definition, actor)


def send_test_of_task(
    tenant_id: UUID, task_id: UUID, *, actor: Actor, receiver_path: str | None = None
) -> TestResult:
    """Send the task's request, or send it to the receiver as :func:`send_test`; raise NotFound."""
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    return _send_to(receiver_path, tenant_id, task, read_definition(task), actor)


def _send_to(
    path: str | None, tenant_id: UUID, task: Task | None, definition: Definition, actor: Actor
) -> TestResult:
    if path is None:
        return _send(tenant_id, task, definition, actor)
    aimed = aimed_at_receiver(tenant_id, definition, path)
    result = _send(tenant_id, task, aimed, actor)
    return replace(result, received=request_received(tenant_id, result.request))


def _send(tenant_id: UUID, task: Task | None, definition: Definition, actor: Actor) -> TestResult:
    require_active(tenant_id)
    plan = _plan(tenant_id, definition)
    now = database_now()
    moment = _moment(tenant_id, task, definition, plan, now)
    request = _request(plan, _in_trace_of(moment, actor))
    with _one_of_few():
        # Written before the request is sent, so that every call has an audit entry.
        audit.record(
            tenant_id,
            actor,
            "task.tested",
            "task" if task else "tenant",
            task.id if task else tenant_id,
            after={"method": request.method, "host": request.url.host},
        )
        result = asyncio.run(_exchange(plan, request, str(tenant_id)))
    result, verdict = judged_answer(plan, result, now)
    return _shown(plan, request, result, verdict, definition.redact)


def _plan(tenant_id: UUID, definition: Definition) -> Plan:
    if definition.target["kind"] != "webhook":
        message = "Only a webhook can be tested."
        raise InvalidInput([FieldError("#/target/kind", "not_a_webhook", message)], message)
    allow = AllowList(conf().webhook_allowed_networks)
    try:
        return read_plan(
            definition.target,
            definition.sent,
            policy=definition.retry_policy,
            tenant=str(tenant_id),
            allow=allow,
            secrets=secrets_for(tenant_id, definition.target),
        )
    except SecretUnavailable as error:
        raise _unavailable(error) from error
    except UrlError as error:
        # A stored task may name a URL that today's settings refuse.
        raise _refused(error) from error


def _unavailable(error: SecretUnavailable) -> InvalidInput:
    return InvalidInput([FieldError("#/target", error.code, error.message)], error.message)


def _refused(error: UrlError) -> InvalidInput:
    return InvalidInput([FieldError("#/target/url", error.code, error.message)], error.message)


def _moment(
    tenant_id: UUID, task: Task | None, definition: Definition, plan: Plan, now: datetime
) -> Moment:
    execution, scheduled_for = new_id(), format_instant(now)
    facts = AttemptFacts(
        execution_id=str(execution),
        task_id=str(task.id if task else _NO_TASK),
        attempt=1,
        scheduled_for=scheduled_for,
        fencing_token=0,
        traceparent=traceparent(str(execution), 1),
        user_headers=[MARK, *plan.headers],
        content_type=plan.content_type,
    )
    if plan.terms.callback:
        facts = replace(
            facts,
            # There is no execution to end: the token opens nothing.
            execution_token=execution_tokens.make(str(execution), 0),
            callback_url=callback_url_of(str(execution)),
        )
    last = task.last_success_at if task else None
    named = {
        "name": definition.name,
        "labels": definition.labels,
        "last_success_at": last.isoformat() if last else None,
    }
    sealed = active_signing_secrets([tenant_id]).get(tenant_id, [])
    return Moment(
        facts=facts,
        timestamp=int(now.timestamp()),
        secrets=[parse_secret(open_signing_secret(blob, tenant_id)) for blob in sealed],
        values=template_values(named, scheduled_for, 1),
    )


def _in_trace_of(moment: Moment, actor: Actor) -> Moment:
    """Return the moment in the trace of the call that asks for the test."""
    if not actor.trace:
        return moment
    context, facts = from_text(actor.trace), moment.facts
    # There is no attempt whose span could be recorded: that of the call is.
    parent = (
        context.traceparent(context.parent)
        if context.parent
        else traceparent(facts.execution_id, facts.attempt, context)
    )
    return replace(moment, facts=replace(facts, traceparent=parent, tracestate=context.state))


def _request(plan: Plan, moment: Moment) -> Request:
    try:
        request = compose(plan, moment)
    except SecretUnavailable as error:
        raise _unavailable(error) from error
    except UrlError as error:  # templates may have made it too long
        raise _refused(error) from error
    return replace(
        request,
        connect_timeout=min(request.connect_timeout, DEADLINE_SECONDS),
        timeout=min(request.timeout, DEADLINE_SECONDS),
        capture_bytes=min(request.capture_bytes, EXCERPT_BYTES),
    )


async def _exchange(plan: Plan, request: Request, tenant: str) -> Response | DeliveryError:
    guard = AddressGuard(plan.shape.allow)
    client = HttpClient(guard)
    try:
        return await Caller(client).call(plan, request, tenant)
    except DeliveryError as error:
        return error
    except ValueError as error:
        return DeliveryError("internal", str(error))
    finally:
        await client.close()
        guard.close()


def _shown(
    plan: Plan,
    request: Request,
    result: Response | DeliveryError,
    verdict: Outcome,
    redact: Sequence[str],
) -> TestResult:
    url = request.url
    sent_url = f"{url.scheme}://{url.authority}{url.path_and_query}"
    sent = {
        "method": request.method,
        "url": redact_text(shown_url(sent_url, plan.target)),
        "headers": {**_sent_headers(plan, request), **proof_headers(plan.target)},
        "body": redacted(_sent_body(plan, request), redact),
    }
    return TestResult(
        outcome=verdict.outcome,
        would_retry=verdict.kind == "retryable",
        error_code=verdict.error_code or "",
        error_message=redact_text(verdict.error_message or ""),
        request=sent,
        response=_answer(result, redact) if isinstance(result, Response) else None,
        timings=dict(result.timings),
    )


def _sent_headers(plan: Plan, request: Request) -> dict[str, str]:
    """Return the headers as they are shown; one with a named secret is masked whole."""
    masked = _masked(request.headers)
    return {
        name: MASK if name.lower() in plan.private_headers else value
        for name, value in masked.items()
    }


def _sent_body(plan: Plan, request: Request) -> Any:
    if not request.body:
        return None
    return request.body.decode() if plan.shape.raw else orjson.loads(request.body)


def _answer(response: Response, redact: Sequence[str]) -> dict[str, Any]:
    body = shown_body(response.body, response.encoding)
    return {
        "status": response.status,
        "headers": _masked(response.headers),
        "body": redact_text(redacted_text(body, redact, truncated=response.truncated)),
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
