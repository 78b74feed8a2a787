from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import orjson
import pytest
from standardwebhooks import Webhook

from delivery.headers import AttemptFacts
from delivery.http_client import Request
from delivery.plan import Moment, Plan, compose, read_plan, template_values
from delivery.signing import parse_secret
from shared.addresses import AllowList, UrlError
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS
from tenants.signing import new_signing_secret

NAMED = {
    "name": "Daily\r\nReport",
    "labels": {"team": "a/b?c"},
    "last_success_at": "2026-11-19T09:00:00.123456+01:00",
}
VALUES = template_values(NAMED, "2026-11-20T08:00:00.000Z", 2)


def plan(payload: Any = None, **target: Any) -> Plan:
    return read_plan(
        {**TARGET_DEFAULTS, "url": "https://a.example/x", **target},
        payload,
        policy=RETRY_DEFAULTS,
        tenant="t1",
        allow=AllowList(),
    )


def request(found: Plan, **parts: Any) -> Request:
    facts = AttemptFacts(
        execution_id="e",
        task_id="t",
        attempt=2,
        scheduled_for="2026-11-20T08:00:00.000Z",
        fencing_token=7,
        traceparent="00",
        user_headers=found.headers,
        content_type=found.content_type,
    )
    moment = Moment(facts=facts, timestamp=int(time.time()), secrets=())
    return compose(found, replace(moment, **parts))


@pytest.mark.parametrize(
    ("payload", "target", "body", "content_type"),
    [
        ({"n": 1}, {}, b'{"n":1}', "application/json"),
        ("text", {}, b'"text"', "application/json"),
        ("te\nxt ä", {"body_format": "raw"}, "te\nxt ä".encode(), "text/plain; charset=utf-8"),
        ({"n": 1}, {"body_format": "raw"}, b'{"n":1}', "text/plain; charset=utf-8"),
        ("x", {"body_format": "raw", "headers": {"content-type": "a/b"}}, b"x", None),
        (None, {}, b"", None),
        ({"n": 1}, {"method": "GET"}, b"", None),
    ],
)
def test_a_payload_is_sent_as_json_or_as_the_text_it_is(
    payload: Any, target: dict[str, Any], body: bytes, content_type: str | None
):
    sent = request(plan(payload, **target))

    assert sent.body == body
    assert dict(sent.headers).get("Content-Type") == content_type


def test_an_own_payload_replaces_that_of_the_definition_null_too():
    found = plan({"n": 1})

    assert request(found, own_payload=[{"n": 2}]).body == b'{"n":2}'
    assert request(found, own_payload=[None]).body == b""


def test_templates_fill_url_headers_and_payload():
    found = plan(
        {"at": "{{ scheduled_for }}", "last": "{{ last_success_at }}", "n": 1},
        template=True,
        url="https://a.example/{{ labels.team }}?n={{ attempt }}",
        headers={"X-Name": "{{ task.name }}", "X-None": "[{{ labels.none }}]"},
    )

    sent = request(found, values=VALUES)

    assert sent.url.path_and_query == "/a%2Fb%3Fc?n=2"
    headers = dict(sent.headers)
    assert (headers["X-Name"], headers["X-None"]) == ("Daily  Report", "[]")
    assert orjson.loads(sent.body) == {
        "at": "2026-11-20T08:00:00.000Z",
        "last": "2026-11-19T08:00:00.123Z",
        "n": 1,
    }


def test_what_templates_made_is_what_is_signed():
    secret = new_signing_secret()
    found = plan({"n": "{{ attempt }}"}, template=True)

    sent = request(found, values=VALUES, secrets=[parse_secret(secret)])

    assert Webhook(secret).verify(sent.body, dict(sent.headers)) == {"n": "2"}


def test_an_own_payload_and_a_raw_one_are_rendered():
    found = plan("a {{ attempt }}", template=True, body_format="raw")

    assert request(found, values=VALUES).body == b"a 2"
    assert request(found, values=VALUES, own_payload=["b {{ attempt }}"]).body == b"b 2"


def test_without_templates_braces_are_text():
    found = plan({"n": "{{ attempt }}"}, headers={"X-A": "{{ attempt }}"})

    sent = request(found, values=VALUES)

    assert sent.body == b'{"n":"{{ attempt }}"}'
    assert dict(sent.headers)["X-A"] == "{{ attempt }}"


def test_a_url_that_templates_made_too_long_is_refused():
    found = plan(template=True, url="https://a.example/{{ labels.long }}")

    with pytest.raises(UrlError):
        request(found, values={"labels.long": "ä" * 500})


def test_a_value_that_is_missing_is_empty():
    values = template_values({"name": "n", "labels": None, "last_success_at": None}, "s", 1)

    assert values == {"scheduled_for": "s", "attempt": "1", "task.name": "n", "last_success_at": ""}


@pytest.mark.parametrize(
    ("target", "direct"),
    [
        ({}, True),
        ({"template": True}, True),
        ({"tls": {"verify": False}}, True),
        ({"follow_redirects": True}, False),
        ({"auth": {"type": "bearer", "token": "t"}}, False),
    ],
)
def test_only_what_needs_more_than_one_request_costs_more(target: dict[str, Any], direct: bool):
    assert plan(**target).is_direct is direct


@pytest.mark.parametrize(
    "target",
    [
        {"url": "http://10.0.0.1/"},
        {"proxy": {"url": "http://10.0.0.1:3128"}},
        {
            "auth": {
                "type": "oauth2",
                "token_url": "http://[::1]/",
                "client_id": "",
                "client_secret": "",
            }
        },
    ],
)
def test_every_url_of_a_target_is_judged(target: dict[str, Any]):
    with pytest.raises(UrlError) as refused:
        plan(**target)

    assert refused.value.code == "address_forbidden"


def test_a_plan_shows_no_secret():
    auth = {"type": "bearer", "token": "canary"}

    assert "canary" not in repr(plan({"k": "canary"}, headers={"A": "canary"}, auth=auth))
