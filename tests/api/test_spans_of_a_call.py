"""One trace from the call to the receiver and back through its callback, as OTLP has it (K2)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.db import transaction

from delivery.attempt import Deliverer
from executions.complete.outcome_reports import understand
from executions.complete.recording import record_in_batches
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.conf import conf
from shared.tracing import sending
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.delivery.calls import LOOPBACK, http_client
from tests.factories import ApiClient, api, make_task, make_tenant, once, prepare, release
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.otlp_receiver import Seen, otlp_receiver
from wire import messages
from wire.messages import Claimed
from worker.traced_delivery import TracedDelivery

TRACE, CALLERS = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RECEIVERS = "11f067aa0ba902b7"
NAMED = {"traceparent": f"00-{TRACE}-{CALLERS}-01", "tracestate": "rojo=1"}
#: What tenants and receivers write, which no trace may hold.
CANARY = "canary-5d1e"
#: Quick enough for a test, which puts the due time forward itself.
POLICY = {"max_attempts": 3, "retry_on": ["5xx"]}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_reachable")]


@pytest.fixture
def _reachable(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the attempt open what is sealed on this connection: a worker has it from its message."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))


def _body(hook: HttpReceiver, **target: Any) -> dict[str, Any]:
    url = f"{hook.url}/{CANARY}?token={CANARY}"
    headers = {"X-Key": CANARY}
    return once(
        name=CANARY,
        payload={"secret": CANARY},
        target={"url": url, "headers": headers, **target},
        retry_policy=POLICY,
        labels={"team": CANARY},
    )


def _work(claimed: Sequence[Claimed]) -> None:
    """Deliver as a worker does, and record what it reports."""
    secrets = active_signing_secrets([row.tenant_id for row in claimed])
    sent = messages.encode(claimed, 0, "incarnation", secrets, 0.0)
    message = messages.decode(orjson.loads(orjson.dumps(sent)))

    async def deliver() -> list[Any]:
        async with http_client() as client:
            deliverer = Deliverer(client, LOOPBACK)
            run = TracedDelivery(deliverer.deliver, deliverer.address_of)
            return [await _reported(run, entry, message) for entry in message["executions"]]

    record_in_batches([understand(row, 0.0) for row in asyncio.run(deliver())])


async def _reported(run: TracedDelivery, entry: Any, message: Any) -> dict[str, Any]:
    started = time.time()
    outcome = await run(entry, message, started)
    return {
        "id": entry["id"],
        "token": entry["token"],
        "attempt": entry["attempt"],
        "worker": "worker-1",
        "started": started,
        "at": time.time(),
        **outcome,
    }


def _due_now() -> None:
    Execution.objects.filter(status="RETRYING").update(due_at=database_now())


def _refused_then_called_back(hook: HttpReceiver) -> Sequence[Any]:
    """Refuse the first attempt, accept the second and end it; return both requests."""
    prepare()
    hook.status = 503
    _work(release())
    _due_now()
    hook.status = 202
    _work(release())
    first, second = hook.requests
    trace_id = second.headers["traceparent"].split("-")[1]
    answer = api().post(
        f"/v1/executions/{first.headers['webhook-id']}/complete",
        {"result": {"secret": CANARY}},
        x_execution_token=second.headers["x-execution-token"],
        traceparent=f"00-{trace_id}-{RECEIVERS}-01",
    )
    assert answer.status_code == 200, answer.content
    return first, second


def _parts(spans: Sequence[Seen], trace_id: str) -> dict[str, Seen]:
    return {one.name: one for one in spans if one.trace_id == trace_id}


def test_one_trace_leads_from_the_call_to_the_receiver_and_from_its_callback_to_the_record(
    client: ApiClient, alpha: Tenant, settings: Any
):
    with otlp_receiver(settings) as receiver, http_receiver() as hook:
        answer = client.post(
            "/v1/tasks", _body(hook, completion="callback"), idempotency_key="1", **NAMED
        )
        assert answer.status_code == 201, answer.content
        first, second = _refused_then_called_back(hook)
        spans, bodies = receiver.spans, receiver.bodies

    retried = second.headers["traceparent"].split("-")[1]
    # From the call to the receiver's header.
    one = _parts(spans, TRACE)
    call, attempt, request = one["POST /v1/tasks"], one["process default"], one["POST"]
    assert answer.headers["X-Trace-Id"] == TRACE
    assert (call.parent_id, call.state) == (CALLERS, "rojo=1")
    assert (attempt.parent_id, attempt.links) == (call.span_id, [])
    assert request.parent_id == attempt.span_id
    assert first.headers["traceparent"] == f"00-{TRACE}-{request.span_id}-01"
    assert first.headers["tracestate"] == "rojo=1"
    stages = ("materialize", "dispatch", "queue", "record")
    assert {one[name].parent_id for name in stages} == {attempt.span_id}
    assert [one[name].start for name in stages] == sorted(one[name].start for name in stages)
    assert request.is_error
    assert request.attributes["error.type"] == "503"
    assert attempt.attributes["error.type"] == "http_status"

    # The retry is a trace of its own, which leads back.
    other = _parts(spans, retried)
    again, sent = other["process default"], other["POST"]
    assert retried != TRACE
    assert (again.parent_id, again.links) == ("", [(TRACE, attempt.span_id)])
    assert (sent.parent_id, sent.attributes["http.request.resend_count"]) == (again.span_id, 1)
    assert second.headers["traceparent"] == f"00-{retried}-{sent.span_id}-01"

    # And back from the callback.
    back = other["POST /v1/executions/<uuid:execution_id>/complete"]
    assert back.parent_id == RECEIVERS
    assert other["callback"].parent_id == other["record"].parent_id == again.span_id
    assert not again.is_error
    assert {span.service for span in spans} == {"punctual"}
    assert CANARY.encode() not in b"".join(bodies)


def test_a_run_without_a_caller_begins_its_own_trace(alpha: Tenant, settings: Any):
    with otlp_receiver(settings) as receiver, http_receiver() as hook:
        make_task(alpha, _body(hook))
        prepare()
        _work(release())
        [request] = hook.requests
        found = _parts(receiver.spans, request.headers["webhook-id"].replace("-", ""))

    assert found["process default"].parent_id == ""
    assert request.headers["traceparent"].split("-")[2] == found["POST"].span_id
    assert "tracestate" not in request.headers


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_the_receiver_learns_what_was_decided(alpha: Tenant, settings: Any, ratio: float):
    with otlp_receiver(settings, ratio=ratio) as receiver, http_receiver() as hook:
        make_task(alpha, _body(hook))
        prepare()
        _work(release())
        spans = receiver.spans
        [request] = hook.requests

    assert request.headers["traceparent"].endswith("-01" if ratio else "-00")
    assert bool(spans) == bool(ratio)


def test_no_tenants_id_or_text_is_in_anothers_trace(
    client: ApiClient, alpha: Tenant, settings: Any
):
    beta = make_tenant("Beta")
    with otlp_receiver(settings) as receiver, http_receiver() as hook:
        for tenant in (alpha, beta):
            make_task(tenant, _body(hook))
        prepare()
        # One batch of the recorder has both.
        _work(release())
        spans, bodies = receiver.spans, receiver.bodies

    of_traces = {
        span.trace_id: span.attributes["punctual.tenant.id"]
        for span in spans
        if "punctual.tenant.id" in span.attributes
    }
    assert sorted(of_traces.values()) == sorted([str(alpha.id), str(beta.id)])
    for span in spans:
        others = {str(alpha.id), str(beta.id)} - {of_traces[span.trace_id]}
        assert not others & {str(value) for value in span.attributes.values()}
        assert span.links == []
    assert CANARY.encode() not in b"".join(bodies)


def test_work_goes_on_while_the_receiver_of_traces_is_away(
    alpha: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    # Too short for a second try.
    monkeypatch.setattr("shared.tracing.otlp._SECONDS", 0.5)
    with otlp_receiver(settings) as receiver:
        assert receiver.spans == []
    # Nothing listens there now.
    with http_receiver() as hook:
        make_task(alpha, _body(hook))
        prepare()
        _work(release())

        sending.close()
    assert Execution.objects.get().status == "SUCCEEDED"
    assert sending.read_counts()["dropped"] > 0


def test_what_is_rolled_back_leaves_no_span(alpha: Tenant, settings: Any):
    with otlp_receiver(settings) as receiver, http_receiver() as hook:
        make_task(alpha, _body(hook))
        prepare()
        with transaction.atomic():
            _work(release())
            transaction.set_rollback(True)
        names = {span.name for span in receiver.spans}

    # The request was made all the same.
    assert names == {"POST"}
