"""``POST /v1/tasks/test`` and ``POST /v1/tasks/{id}/test``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from delivery.http_client import HttpClient
from executions.models import Execution
from shared.conf import conf
from tasks.models import Task
from tenants.models import IdempotencyRecord, Tenant
from tests.factories import ApiClient, make_task, once
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.receiving import receiving

pytestmark = pytest.mark.django_db
PATH = "/v1/tasks/test"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HttpReceiver]:
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    with http_receiver() as found:
        yield found


def body(receiver: HttpReceiver, **parts: Any) -> dict[str, Any]:
    return once(target={"url": receiver.url}, **parts)


def test_a_definition_is_tested_without_making_a_task(client: ApiClient, receiver: HttpReceiver):
    answer = client.post(PATH, body(receiver))

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["outcome"], shown["error"], shown["would_retry"]) == ("SUCCEEDED", None, False)
    assert (shown["response"]["status"], shown["response"]["body"]) == (200, "ok")
    assert shown["request"]["headers"]["X-Scheduler-Test"] == "true"
    assert shown["timings"]["total_ms"] > 0
    assert shown["timings"]["tls_ms"] is None
    assert not Task.objects.exists()


def test_the_short_form_is_taken(client: ApiClient, receiver: HttpReceiver):
    short = {"payload": {"webhook_url": receiver.url, "body": {"a": 1}}, "delay_seconds": 5}

    assert client.post(PATH, short).json()["outcome"] == "SUCCEEDED"
    assert receiver.requests[0].body == b'{"a":1}'


def test_a_task_is_tested(client: ApiClient, alpha: Tenant, receiver: HttpReceiver):
    task = make_task(alpha, body(receiver))
    receiver.status = 500

    shown = client.post(f"/v1/tasks/{task.id}/test").json()

    assert (shown["outcome"], shown["error"]["code"]) == ("FAILED", "http_status")
    assert shown["would_retry"]
    assert not Execution.objects.exists()


def test_what_is_not_valid_is_refused_and_nothing_is_sent(
    client: ApiClient, alpha: Tenant, receiver: HttpReceiver
):
    task = make_task(alpha, body(receiver))

    assert client.post(PATH, {"oops": 1}).status_code == 400
    assert client.post(PATH, once(target={"url": "http://10.0.0.1/"})).status_code == 400
    assert client.post(f"/v1/tasks/{task.id}/test", {"oops": 1}).status_code == 400
    assert receiver.requests == []


def test_the_same_key_sends_once(client: ApiClient, receiver: HttpReceiver):
    first = client.post(PATH, body(receiver), idempotency_key="k")
    second = client.post(PATH, body(receiver), idempotency_key="k")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert len(receiver.requests) == 1
    assert client.post(PATH, body(receiver, name="Other"), idempotency_key="k").status_code == 422


def test_a_refusal_is_given_again_under_its_key(client: ApiClient, receiver: HttpReceiver):
    bad = once(target={"url": "http://10.0.0.1/"})

    first = client.post(PATH, bad, idempotency_key="k")
    second = client.post(PATH, bad, idempotency_key="k")

    assert (first.status_code, second.status_code) == (400, 400)
    assert second["Idempotent-Replayed"] == "true"


def test_too_many_tests_at_once_are_429_and_may_be_sent_again(
    client: ApiClient, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    class Full:
        def acquire(self, blocking: bool = True) -> bool:
            return False

    with monkeypatch.context() as patched:
        patched.setattr("executions.triggering.test_delivery._AT_ONCE", Full())
        refused = client.post(PATH, body(receiver), idempotency_key="k")

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_tests")
    assert refused["Retry-After"] == "2"
    assert not IdempotencyRecord.objects.exists()
    assert client.post(PATH, body(receiver), idempotency_key="k").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_call_under_its_key_waits_in_no_transaction_and_holds_the_key(
    client: ApiClient, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    open_then: list[bool] = []
    send = HttpClient.send

    async def noted(self: HttpClient, request: Any, **whose: Any) -> Any:
        open_then.append(connection.in_atomic_block)
        return await send(self, request, **whose)

    monkeypatch.setattr(HttpClient, "send", noted)

    assert client.post(PATH, body(receiver), idempotency_key="k").status_code == 200

    assert open_then == [False]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone()[0] == 0


@pytest.mark.django_db(transaction=True)
def test_a_call_under_a_key_in_use_is_409_and_sends_nothing(
    client: ApiClient, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    meanwhile: list[Any] = []
    send = HttpClient.send

    def call_again() -> None:
        meanwhile.append(client.post(PATH, body(receiver), idempotency_key="k"))
        connection.close()

    async def noted(self: HttpClient, request: Any, **whose: Any) -> Any:
        await asyncio.to_thread(call_again)
        return await send(self, request, **whose)

    monkeypatch.setattr(HttpClient, "send", noted)

    assert client.post(PATH, body(receiver), idempotency_key="k").status_code == 200

    assert [answer.status_code for answer in meanwhile] == [409]
    assert meanwhile[0].json()["code"] == "idempotency_in_progress"
    assert len(receiver.requests) == 1


def test_a_test_continues_the_trace_of_its_call(client: ApiClient, receiver: HttpReceiver):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    shown = client.post(PATH, body(receiver), traceparent=f"00-{trace}-00f067aa0ba902b7-00").json()

    assert shown["request"]["headers"]["traceparent"].split("-")[1::2] == [trace, "00"]


def test_a_task_is_fired_at_the_built_in_receiver_without_its_secrets(
    client: ApiClient, alpha: Tenant, settings: Settings, tmp_path: Path
):
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    target = {"url": "https://api.example.com/", "headers": {"X-Api-Key": "s3cret"}}
    task = make_task(alpha, once(target=target))
    with receiving(settings, tmp_path):
        shown = client.post(f"/v1/tasks/{task.id}/test?to=receiver&path=/status/503").json()
        defined = client.post(f"{PATH}?to=receiver", once(target=target)).json()

    assert (shown["response"]["status"], shown["would_retry"]) == (503, True)
    assert (shown["received"]["path"], shown["received"]["method"]) == ("/status/503", "POST")
    assert (defined["outcome"], defined["received"]["path"]) == ("SUCCEEDED", "/ok")
    assert "s3cret" not in str([shown, defined])


def test_a_test_of_the_target_received_nothing_of_its_own(
    client: ApiClient, receiver: HttpReceiver
):
    assert client.post(PATH, body(receiver)).json()["received"] is None


@pytest.mark.parametrize("query", ["to=elsewhere", "path=/ok", "to=receiver&path=ok", "to=&path="])
def test_where_a_test_goes_is_judged_before_anything_is_sent(
    client: ApiClient, alpha: Tenant, receiver: HttpReceiver, query: str
):
    task = make_task(alpha, body(receiver))

    for path in (PATH, f"/v1/tasks/{task.id}/test"):
        sent = body(receiver) if path == PATH else None
        assert client.post(f"{path}?{query}", sent).status_code == 400
    assert receiver.requests == []


def test_without_a_receiver_a_test_there_is_404(
    client: ApiClient, alpha: Tenant, settings: Settings
):
    settings.RECEIVER_URL = ""
    task = make_task(alpha)

    answer = client.post(f"/v1/tasks/{task.id}/test?to=receiver")

    assert (answer.status_code, answer.json()["code"]) == (404, "no_receiver")
