from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings
from standardwebhooks import Webhook

from delivery.http_client import HttpClient
from events.models import AuditEntry, Event
from executions.models import Attempt, Execution, MinuteStat
from executions.triggering import test_delivery
from executions.triggering.test_delivery import TooManyTests, send_test, send_test_of_task
from shared import execution_tokens
from shared.conf import conf
from shared.exceptions import InvalidInput, NotFound
from shared.redaction import MASK
from tasks.models import Task
from tasks.named_secrets.services import change_secret
from tenants.models import SigningSecret, Tenant
from tenants.services.signing_secrets import reveal_signing_secrets
from tests.factories import ACTOR, make_task, once
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.named_secrets import VALUE, make_secret, using

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HttpReceiver]:
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    with http_receiver() as found:
        yield found


def body(receiver: HttpReceiver, **target: Any) -> dict[str, Any]:
    return once(target={"url": receiver.url, **target})


def test_one_signed_request_marked_as_a_test_is_sent(alpha: Tenant, receiver: HttpReceiver):
    result = send_test(alpha.id, body(receiver, headers={"X-Team": "billing"}), actor=ACTOR)

    (sent,) = receiver.requests
    assert (sent.method, sent.path, sent.body) == ("POST", "/hook", b'{"n":1}')
    assert (sent.headers["x-scheduler-test"], sent.headers["x-team"]) == ("true", "billing")
    (secret,) = reveal_signing_secrets(alpha.id, actor=ACTOR)
    assert Webhook(secret.secret).verify(sent.body, sent.headers) == {"n": 1}
    assert (result.outcome, result.would_retry, result.error_code) == ("SUCCEEDED", False, "")
    assert result.response is not None
    assert (result.response["status"], result.response["body"]) == (200, "ok")
    assert {"connect", "first_byte", "total"} <= result.timings.keys()


@pytest.mark.parametrize(
    ("target", "sent_body"),
    [
        ({}, b'{"payload_ref":"s3://bucket/key"}'),
        ({"body_format": "raw"}, b"s3://bucket/key"),
        ({"template": True}, b'{"payload_ref":"s3://bucket/key"}'),
    ],
)
def test_a_reference_is_sent_and_signed_in_place_of_a_payload(
    alpha: Tenant, receiver: HttpReceiver, target: dict[str, Any], sent_body: bytes
):
    wanted = {**body(receiver, **target), "payload": None, "payload_ref": "s3://bucket/key"}

    send_test(alpha.id, wanted, actor=ACTOR)

    (sent,) = receiver.requests
    assert sent.body == sent_body
    (secret,) = reveal_signing_secrets(alpha.id, actor=ACTOR)
    Webhook(secret.secret).verify(sent.body, sent.headers, json_parse=False)


def test_nothing_is_kept_of_it_but_the_audit_entry(alpha: Tenant, receiver: HttpReceiver):
    send_test(alpha.id, body(receiver), actor=ACTOR)

    for model in (Execution, Attempt, MinuteStat, Task):
        assert not model.objects.exists()
    assert not Event.objects.filter(name__startswith="execution.").exists()
    entry = AuditEntry.objects.get(action="task.tested")
    assert (entry.object_kind, entry.object_id) == ("tenant", str(alpha.id))


def test_what_is_shown_of_the_request_has_no_secrets(alpha: Tenant, receiver: HttpReceiver):
    receiver.headers = {"Set-Cookie": "session=1", "X-Kind": "a"}
    headers = {"Authorization": "Bearer abc", "X-Note": "whsec_QUJD"}

    result = send_test(alpha.id, body(receiver, headers=headers), actor=ACTOR)

    shown = result.request["headers"]
    assert shown["Authorization"] == shown["webhook-signature"] == shown["X-Note"] == MASK
    assert shown["X-Scheduler-Test"] == "true"
    assert (result.request["method"], result.request["url"]) == ("POST", receiver.url)
    assert result.request["body"] == {"n": 1}
    assert result.response is not None
    assert result.response["headers"]["Set-Cookie"] == MASK
    assert result.response["headers"]["X-Kind"] == "a"
    assert receiver.requests[0].headers["authorization"] == "Bearer abc"


def test_a_long_answer_is_cut(alpha: Tenant, receiver: HttpReceiver):
    receiver.body = b"x" * (test_delivery.EXCERPT_BYTES + 1)

    result = send_test(alpha.id, body(receiver), actor=ACTOR)

    assert result.response is not None
    assert len(result.response["body"]) == test_delivery.EXCERPT_BYTES
    assert result.response["truncated"]


def test_an_error_says_whether_a_task_would_try_again(alpha: Tenant, receiver: HttpReceiver):
    receiver.status = 503
    again = send_test(alpha.id, body(receiver), actor=ACTOR)
    receiver.status = 404
    final = send_test(alpha.id, body(receiver), actor=ACTOR)

    assert (again.outcome, again.error_code, again.would_retry) == ("FAILED", "http_status", True)
    assert (final.outcome, final.error_code, final.would_retry) == ("FAILED", "http_status", False)
    assert again.response is not None
    assert again.response["status"] == 503


def test_a_silent_receiver_has_until_the_deadline(
    alpha: Tenant, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    receiver.silent = True
    monkeypatch.setattr(test_delivery, "DEADLINE_SECONDS", 0.2)

    result = send_test(alpha.id, body(receiver, timeout_seconds=300), actor=ACTOR)

    assert (result.outcome, result.error_code) == ("TIMED_OUT", "timeout_total")
    assert result.response is None
    assert result.timings["total"] < 5_000


def test_the_deadline_is_the_targets_timeout_where_that_is_shorter(
    alpha: Tenant, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    asked: list[float] = []
    send = HttpClient.send

    async def noted(self: HttpClient, request: Any, **whose: Any) -> Any:
        asked.append(request.timeout)
        return await send(self, request, **whose)

    monkeypatch.setattr(HttpClient, "send", noted)
    for seconds in (3, 30):
        send_test(alpha.id, body(receiver, timeout_seconds=seconds), actor=ACTOR)

    assert asked == [3, 10]


def test_an_address_that_is_not_public_is_refused(alpha: Tenant, receiver: HttpReceiver):
    with pytest.raises(InvalidInput) as refused:
        send_test(alpha.id, once(target={"url": "http://10.0.0.1/"}), actor=ACTOR)

    assert refused.value.errors[0].code == "address_forbidden"


def test_a_name_that_leads_to_such_an_address_is_refused(alpha: Tenant, settings: Settings):
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=())

    result = send_test(alpha.id, once(target={"url": "http://localhost:8080/"}), actor=ACTOR)

    assert (result.outcome, result.error_code) == ("FAILED", "address_forbidden")


def test_what_could_not_be_created_is_not_sent(alpha: Tenant, receiver: HttpReceiver):
    with pytest.raises(InvalidInput):
        send_test(alpha.id, {**body(receiver), "type": "SOMETIMES"}, actor=ACTOR)

    assert receiver.requests == []


def test_a_test_proves_who_sends_and_does_not_show_it(alpha: Tenant, receiver: HttpReceiver):
    auth = {"type": "basic", "username": "u", "password": "canary"}

    result = send_test(alpha.id, body(receiver, auth=auth), actor=ACTOR)

    assert receiver.requests[0].headers["authorization"] == "Basic dTpjYW5hcnk="
    assert result.request["headers"]["Authorization"] == MASK
    assert "canary" not in str(result)


def test_a_key_in_the_query_is_sent_and_masked(alpha: Tenant, receiver: HttpReceiver):
    auth = {"type": "api_key", "name": "key", "value": "canary", "in": "query"}

    result = send_test(alpha.id, body(receiver, auth=auth), actor=ACTOR)

    assert receiver.requests[0].path == "/hook?key=canary"
    assert result.request["url"] == f"{receiver.url}?key={MASK}"


def test_templates_are_filled_and_shown_as_sent(alpha: Tenant, receiver: HttpReceiver):
    definition = body(receiver, template=True, url=f"{receiver.url}/{{{{ labels.team }}}}")
    definition |= {"payload": {"name": "{{ task.name }}"}, "labels": {"team": "a b"}}
    task = make_task(alpha, definition)

    result = send_test_of_task(alpha.id, task.id, actor=ACTOR)

    assert receiver.requests[0].path == "/hook/a%20b"
    assert result.request["url"] == f"{receiver.url}/a%20b"
    assert result.request["body"] == {"name": task.name}


def test_a_raw_payload_is_sent_and_shown_as_the_text_it_is(alpha: Tenant, receiver: HttpReceiver):
    definition = body(receiver, body_format="raw") | {"payload": "a=1"}

    result = send_test(alpha.id, definition, actor=ACTOR)

    assert receiver.requests[0].body == b"a=1"
    assert receiver.requests[0].headers["content-type"] == "text/plain; charset=utf-8"
    assert result.request["body"] == "a=1"


def test_a_test_of_a_callback_target_takes_202_and_its_token_opens_nothing(
    alpha: Tenant, receiver: HttpReceiver
):
    receiver.status = 202

    result = send_test(alpha.id, body(receiver, completion="callback"), actor=ACTOR)

    sent = receiver.requests[0].headers
    assert execution_tokens.verify(sent["x-execution-token"], sent["webhook-id"]) == 0
    assert result.request["headers"]["X-Execution-Token"] == MASK
    assert result.outcome == "SUCCEEDED"


def test_criteria_and_redirects_are_judged_as_in_a_run(alpha: Tenant, receiver: HttpReceiver):
    missed = body(receiver, success={"statuses": ["2xx"], "body_pattern": "done"})
    first = send_test(alpha.id, missed, actor=ACTOR)
    receiver.status, receiver.headers = 307, {"Location": "/hook"}
    second = send_test(alpha.id, body(receiver, follow_redirects=True), actor=ACTOR)

    assert (first.error_code, first.would_retry) == ("response_mismatch", True)
    assert (second.error_code, second.would_retry) == ("redirect_forbidden", False)


def test_a_get_carries_no_body(alpha: Tenant, receiver: HttpReceiver):
    result = send_test(alpha.id, body(receiver, method="GET"), actor=ACTOR)

    assert receiver.requests[0].body == b""
    assert result.request["body"] is None


def test_a_task_is_tested_with_its_own_definition(alpha: Tenant, receiver: HttpReceiver):
    task = make_task(alpha, body(receiver, headers={"X-Team": "billing"}))

    result = send_test_of_task(alpha.id, task.id, actor=ACTOR)

    (sent,) = receiver.requests
    assert sent.headers["x-scheduler-task-id"] == str(task.id)
    assert sent.headers["x-team"] == "billing"
    assert sent.body == b'{"n":1}'
    assert result.outcome == "SUCCEEDED"
    assert not Execution.objects.exists()
    assert AuditEntry.objects.get(action="task.tested").object_id == str(task.id)


def test_a_task_that_names_what_is_forbidden_now_is_refused(
    alpha: Tenant, receiver: HttpReceiver, settings: Settings
):
    task = make_task(alpha, body(receiver))
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=())

    with pytest.raises(InvalidInput) as refused:
        send_test_of_task(alpha.id, task.id, actor=ACTOR)

    assert refused.value.errors[0].code == "address_forbidden"
    assert receiver.requests == []


def test_another_tenants_task_is_not_found(alpha: Tenant, beta: Tenant, receiver: HttpReceiver):
    task = make_task(alpha, body(receiver))

    with pytest.raises(NotFound):
        send_test_of_task(beta.id, task.id, actor=ACTOR)


def test_a_tenant_without_a_secret_sends_unsigned(alpha: Tenant, receiver: HttpReceiver):
    SigningSecret.objects.all().delete()

    send_test(alpha.id, body(receiver), actor=ACTOR)

    assert "webhook-signature" not in receiver.requests[0].headers


def test_only_a_few_tests_run_at_once(alpha: Tenant, receiver: HttpReceiver):
    taken = 0
    while test_delivery._AT_ONCE.acquire(blocking=False):
        taken += 1
    try:
        with pytest.raises(TooManyTests):
            send_test(alpha.id, body(receiver), actor=ACTOR)
    finally:
        for _ in range(taken):
            test_delivery._AT_ONCE.release()

    assert taken == 4
    assert send_test(alpha.id, body(receiver), actor=ACTOR).outcome == "SUCCEEDED"


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_receiver_is_waited_for(
    alpha: Tenant, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
):
    open_then: list[bool] = []
    send = HttpClient.send

    async def noted(self: HttpClient, request: Any, **whose: Any) -> Any:
        open_then.append(connection.in_atomic_block)
        return await send(self, request, **whose)

    monkeypatch.setattr(HttpClient, "send", noted)
    send_test(alpha.id, body(receiver), actor=ACTOR)

    assert open_then == [False]


def bound_to(receiver: HttpReceiver, **parts: Any) -> dict[str, Any]:
    return {"hosts": [receiver.url.removesuffix("/hook")], **parts}


def test_a_test_sends_named_secrets_and_shows_none_of_them(alpha: Tenant, receiver: HttpReceiver):
    make_secret(alpha, **bound_to(receiver))
    receiver.headers = {"X-Echo": VALUE}
    receiver.body = f"you sent {VALUE}".encode()
    headers = {"X-Plain": "k={{ secrets.token }}"}
    wanted = body(receiver, headers=headers, auth=using()["auth"])

    result = send_test(alpha.id, wanted, actor=ACTOR)

    (sent,) = receiver.requests
    assert sent.headers["x-plain"] == f"k={VALUE}"
    assert sent.headers["authorization"] == f"Bearer {VALUE}"
    assert result.request["headers"]["X-Plain"] == MASK
    assert VALUE not in str(result)


def test_a_test_does_not_send_a_secret_where_it_may_not_go(alpha: Tenant, receiver: HttpReceiver):
    make_secret(alpha)

    with pytest.raises(InvalidInput) as refused:
        send_test(alpha.id, body(receiver, auth=using()["auth"]), actor=ACTOR)

    assert [one.code for one in refused.value.errors] == ["secret_not_allowed"]
    assert not receiver.requests


def test_a_stored_task_whose_secret_was_bound_elsewhere_since_sends_nothing(
    alpha: Tenant, receiver: HttpReceiver
):
    make_secret(alpha, hosts=["api.example.com", *bound_to(receiver)["hosts"]])
    task = make_task(alpha, body(receiver, auth=using()["auth"]))
    change_secret(alpha.id, "token", {"hosts": ["api.example.com"]}, actor=ACTOR)

    with pytest.raises(InvalidInput) as refused:
        send_test_of_task(alpha.id, task.id, actor=ACTOR)

    assert [one.code for one in refused.value.errors] == ["secret_unavailable"]
    assert not receiver.requests


def test_masked_fields_are_sent_and_not_shown(alpha: Tenant, receiver: HttpReceiver):
    receiver.body = b'{"card": {"number": "4111"}, "ok": true}'
    payload = {"card": {"number": "4111"}}

    result = send_test(
        alpha.id, {**body(receiver), "payload": payload, "redact": ["$.card.number"]}, actor=ACTOR
    )

    assert b"4111" in receiver.requests[0].body
    assert "4111" not in str(result)
