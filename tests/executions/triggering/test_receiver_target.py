"""A test at the built-in receiver shows the call as it arrives, and takes no secret along."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from executions.triggering.receiver_requests import NoReceiver, received
from executions.triggering.receiver_target import aimed_at_receiver, read_path
from executions.triggering.test_delivery import send_test, send_test_of_task
from shared.conf import conf
from shared.exceptions import InvalidInput
from tasks.revisions import read_definition
from tests.factories import ACTOR, make_task, make_tenant, once
from tests.support.receiving import receiving
from tests.tasks.bodies import TARGETS

pytestmark = pytest.mark.django_db
URL = "https://api.example.com/reports?token=in-the-url"
SECRETS: dict[str, Any] = {
    "url": URL,
    "headers": {"Authorization": "Basic s3cret-a", "X-Api-Key": "s3cret-b", "X-Team": "billing"},
}


@pytest.fixture
def receiver(settings, tmp_path):
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    with receiving(settings, tmp_path) as url:
        yield url


def body(**target: Any) -> dict[str, Any]:
    return once(target={**SECRETS, **target})


def test_the_call_arrives_at_the_tenants_own_address_and_is_answered_as_it_arrived(alpha, receiver):
    task = make_task(alpha, body())

    result = send_test_of_task(alpha.id, task.id, actor=ACTOR, receiver_path="/status/503?n=1")

    assert (result.outcome, result.would_retry) == ("FAILED", True)
    assert result.received is not None
    assert (result.received["path"], result.received["query"]) == ("/status/503", {"n": "1"})
    assert result.received["status"] == 503
    assert json.loads(result.received["body"]) == {"n": 1}
    arrived = {name.lower(): value for name, value in result.received["headers"].items()}
    assert (arrived["x-team"], arrived["x-scheduler-test"]) == ("billing", "true")
    assert received(make_tenant("Beta").id, {})["requests"] == []


@pytest.mark.parametrize(
    "target",
    [
        {"auth": {"type": "bearer", "token": "s3cret-c"}},
        {"auth": {"type": "basic", "username": "u", "password": "s3cret-c"}},
        {
            "auth": {
                "type": "oauth2",
                "token_url": "https://sign-in.example.com/token",
                "client_id": "c",
                "client_secret": "s3cret-c",
            }
        },
        {
            "proxy": {
                "url": "http://proxy.example.com:3128",
                "username": "u",
                "password": "s3cret-c",
            }
        },
    ],
)
def test_no_secret_of_a_target_leaves_for_the_receiver(alpha, receiver, target):
    if target.get("auth"):
        target = {**target, "headers": {"X-Api-Key": "s3cret-b", "X-Team": "billing"}}

    result = send_test(alpha.id, body(**target), actor=ACTOR, receiver_path="/echo")

    # The answer of /echo is the request with every value as it arrived.
    assert result.outcome == "SUCCEEDED"
    assert result.response is not None
    for text in (result.response["body"], json.dumps(result.received), json.dumps(result.request)):
        assert "s3cret" not in text
        assert "in-the-url" not in text
    assert "x-team" in result.response["body"]


def test_a_definition_keeps_all_but_its_secrets(alpha, receiver):
    proxy = {"url": "http://proxy.example.com:3128", "username": "u", "password": "s3cret"}
    found = read_definition(make_task(alpha, body(timeout_seconds=7, proxy=proxy)))

    aimed = aimed_at_receiver(alpha.id, found, "/ok")

    assert aimed.target["url"].startswith(receiver)
    assert aimed.target["url"].endswith("/ok")
    assert aimed.target["timeout_seconds"] == 7
    assert [aimed.target[part] for part in ("auth", "tls", "proxy")] == [None] * 3
    assert aimed.target["headers"] == {
        "Authorization": "[redacted]",
        "X-Api-Key": "[redacted]",
        "X-Team": "billing",
    }
    assert found.target["headers"]["X-Api-Key"] == "s3cret-b"


def test_a_masked_field_does_not_reach_the_receivers_page(alpha, receiver):
    payload = {"card": {"number": "4111-cleartext"}, "n": 1}
    task = make_task(alpha, {**body(), "payload": payload, "redact": ["$.card.number"]})

    result = send_test_of_task(alpha.id, task.id, actor=ACTOR, receiver_path="/ok")

    assert result.received is not None
    assert json.loads(result.received["body"]) == {"card": {"number": "[redacted]"}, "n": 1}
    assert "cleartext" not in str(received(alpha.id, {}))


@pytest.mark.parametrize("kind", [kind for kind in TARGETS if kind != "webhook"])
def test_only_a_webhook_is_sent_to_the_receiver(alpha, receiver, kind, settings):
    found = replace(read_definition(make_task(alpha, body())), target={**TARGETS[kind]})

    assert aimed_at_receiver(alpha.id, found, "/ok") is found


def test_where_no_receiver_runs_nothing_is_sent(alpha, settings):
    settings.RECEIVER_URL = ""

    with pytest.raises(NoReceiver):
        send_test(alpha.id, body(), actor=ACTOR, receiver_path="/ok")


def test_what_would_not_be_created_is_not_sent(alpha, receiver):
    with pytest.raises(InvalidInput):
        send_test(alpha.id, body(timeout_seconds=0), actor=ACTOR, receiver_path="/ok")

    assert received(alpha.id, {})["requests"] == []


@pytest.mark.parametrize("path", ["", "ok", "//x y", "/a#b", "/\x00", "/ä", "/" + "a" * 500])
def test_a_path_stays_below_the_address(path):
    with pytest.raises(ValueError, match="path"):
        read_path(path)
