from __future__ import annotations

import re
import time
import uuid
from dataclasses import replace

import pytest
from standardwebhooks import Webhook

from delivery.headers import AttemptFacts, build_headers, callback_url_of, traceparent
from delivery.signing import parse_secret, sign
from shared.conf import conf
from shared.http_headers import RESERVED_HEADERS
from shared.trace_context import TraceContext
from tenants.signing import new_signing_secret

FACTS = AttemptFacts(
    execution_id="0195c0c0-0000-7000-8000-000000000001",
    task_id="0195c0c0-0000-7000-8000-000000000002",
    attempt=3,
    scheduled_for="2026-11-20T08:00:00.000Z",
    fencing_token=17,
    traceparent="00-0195c0c000007000800000000000000a-0123456789abcdef-01",
)


def test_receiver_gets_the_promised_headers():
    secret = parse_secret(new_signing_secret())

    headers = dict(build_headers(FACTS, secrets=[secret], timestamp=1_700_000_000, body=b"{}"))

    assert headers == {
        "User-Agent": "Punctual-Webhooks/1",
        "webhook-id": FACTS.execution_id,
        "webhook-timestamp": "1700000000",
        "webhook-signature": sign([secret], FACTS.execution_id, 1_700_000_000, b"{}"),
        "Idempotency-Key": FACTS.execution_id,
        "X-Idempotency-Key": FACTS.execution_id,
        "X-Scheduler-Task-Id": FACTS.task_id,
        "X-Scheduler-Attempt": "3",
        "X-Scheduler-Scheduled-For": "2026-11-20T08:00:00.000Z",
        "X-Scheduler-Fencing-Token": "17",
        "traceparent": FACTS.traceparent,
        "Content-Type": "application/json",
    }


def test_receiver_can_verify_the_headers_as_they_are():
    secret = new_signing_secret()

    headers = build_headers(
        FACTS, secrets=[parse_secret(secret)], timestamp=int(time.time()), body=b'{"a": 1}'
    )

    assert Webhook(secret).verify(b'{"a": 1}', dict(headers)) == {"a": 1}


def test_callback_headers_are_sent_only_with_a_callback():
    facts = replace(FACTS, execution_token="token", callback_url="https://p.example/v1/x")

    headers = dict(build_headers(facts, secrets=[], timestamp=1, body=b""))

    assert headers["X-Execution-Token"] == "token"
    assert headers["X-Scheduler-Callback-Url"] == "https://p.example/v1/x"
    assert "webhook-signature" not in headers


def test_content_type_of_the_user_replaces_the_default():
    facts = replace(FACTS, user_headers=[("content-type", "text/plain"), ("X-Team", "billing")])

    headers = build_headers(facts, secrets=[], timestamp=1, body=b"raw")

    assert [value for name, value in headers if name.lower() == "content-type"] == ["text/plain"]
    assert ("X-Team", "billing") in headers


def test_request_without_body_has_no_content_type():
    names = {name.lower() for name, _ in build_headers(FACTS, secrets=[], timestamp=1, body=b"")}

    assert "content-type" not in names


def test_every_header_that_is_set_is_reserved_for_users():
    facts = replace(
        FACTS, execution_token="token", callback_url="https://p.example/v1/x", progress="{}"
    )

    headers = build_headers(facts, secrets=[b"k" * 32], timestamp=1, body=b"{}")

    names = {name.lower() for name, _ in headers} - {"content-type"}
    assert names <= RESERVED_HEADERS


def test_attempts_share_a_trace_and_differ_in_span():
    execution_id = uuid.uuid4()

    first, second = traceparent(str(execution_id), 1), traceparent(str(execution_id), 2)

    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", first)
    assert first.split("-")[1] == second.split("-")[1] == execution_id.hex
    assert first.split("-")[2] != second.split("-")[2]


def test_an_attempt_is_a_span_in_the_trace_that_its_execution_continues():
    own, context = str(uuid.uuid4()), TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00")

    found = traceparent(own, 1, context)

    assert found.split("-")[1::2] == [context.trace_id, "00"]
    assert found.split("-")[2] == traceparent(own, 1).split("-")[2]


@pytest.mark.parametrize(("own", "sent"), [([], ["a=b"]), ([("TraceState", "x=y")], ["x=y"])])
def test_the_state_of_a_trace_is_sent_unless_the_user_says_another(own, sent):
    facts = replace(FACTS, tracestate="a=b", user_headers=own)

    headers = build_headers(facts, secrets=[], timestamp=1, body=b"")

    assert [value for name, value in headers if name.lower() == "tracestate"] == sent


def test_span_is_never_zero():
    assert traceparent(str(uuid.UUID(int=1 << 64 | 5)), 5).split("-")[2] == "0000000000000001"


def test_a_callback_goes_to_the_public_url(settings):
    settings.PUNCTUAL = replace(conf(), public_url="https://p.example/base/")

    assert callback_url_of("x") == "https://p.example/base/v1/executions/x"


def test_a_public_url_beyond_ascii_is_sent_in_the_one_spelling_of_its_host(settings):
    settings.PUNCTUAL = replace(conf(), public_url="https://Faß.example:0443")

    assert callback_url_of("x") == "https://xn--fa-hia.example/v1/executions/x"
