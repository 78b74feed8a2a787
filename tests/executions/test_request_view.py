from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from executions.models import Attempt, Execution
from executions.request_view import (
    captured_response,
    mask_headers,
    planned_request,
    proof_headers,
    sent_request,
    shown_url,
    with_body,
)
from tasks.definition import TARGET_DEFAULTS, target_defaults
from tests.executions.answers import sealed_answer

AT = datetime(2026, 11, 20, 8, 0, 0, tzinfo=UTC)
ID = UUID("019a9f3c-8000-8123-8456-0123456789ab")
MASK = "[redacted]"
TARGET: dict[str, Any] = {
    **TARGET_DEFAULTS,
    "url": "https://api.example.com/reports",
    "headers": {"X-Team": "billing", "X-Auth-Token": "t"},
}


def test_repeated_headers_are_joined_whatever_their_spelling():
    found = mask_headers([("X-A", "1"), ("Set-Cookie", "a"), ("x-a", "2"), ("set-cookie", "b")])

    assert found == {"X-A": "1, 2", "Set-Cookie": MASK}


def test_a_request_that_is_still_to_be_made_shows_what_is_known():
    assert planned_request(TARGET) == {
        "method": "POST",
        "url": "https://api.example.com/reports",
        "headers": {"X-Team": "billing", "X-Auth-Token": MASK},
    }


def request(target: dict[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    trace = parts.pop("trace_context", None)
    execution = Execution(id=ID, task_id=UUID(int=2), scheduled_for=AT, trace_context=trace)
    facts = {"number": 2, "fencing_token": 77, "started_at": AT, "finished_at": AT}
    attempt = Attempt(execution_id=ID, **{**facts, **parts})
    found = sent_request(TARGET | (target or {}), execution, attempt)
    assert found is not None
    return found


def sent(method: str = "POST", **parts: Any) -> dict[str, str]:
    headers: dict[str, str] = request({"method": method}, **parts)["headers"]
    return headers


def test_a_request_that_was_made_shows_its_headers_without_secrets():
    headers = sent()

    assert headers["webhook-id"] == headers["Idempotency-Key"] == str(ID)
    assert headers["webhook-timestamp"] == str(int(AT.timestamp()))
    assert headers["X-Scheduler-Attempt"] == "2"
    # It orders attempts and proves nothing, so it is no secret.
    assert headers["X-Scheduler-Fencing-Token"] == "77"
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Team"] == "billing"
    assert (headers["webhook-signature"], headers["X-Auth-Token"]) == (MASK, MASK)


def test_an_attempt_that_never_started_is_dated_by_its_end():
    assert sent(started_at=None)["webhook-timestamp"] == str(int(AT.timestamp()))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_method_without_a_body_shows_none(method: str):
    assert "Content-Type" not in sent(method)
    assert with_body({"method": method}, {"n": 1}) == {"method": method, "body": None}


def test_a_body_is_shown_as_it_is():
    assert with_body({"method": "POST"}, [1]) == {"method": "POST", "body": [1]}


def test_a_captured_answer_shows_no_secrets():
    sealed = sealed_answer(ID, b"no", [["Set-Cookie", "s"], ["X-A", "1"]])
    attempt = Attempt(execution_id=ID, response_status=500, sealed_response=sealed)

    assert captured_response(attempt, ()) == {
        "status": 500,
        "headers": {"Set-Cookie": MASK, "X-A": "1"},
        "body": "no",
        "truncated": False,
    }
    assert captured_response(Attempt(execution_id=ID), ()) is None


def test_an_answer_that_could_not_be_decompressed_is_only_described():
    sealed = sealed_answer(ID, b"\x8b\x00", [], encoding="br")

    attempt = Attempt(execution_id=ID, response_status=200, sealed_response=sealed)
    found = captured_response(attempt, ())

    assert found is not None
    assert found["body"] == "(2 bytes with the encoding br)"


@pytest.mark.parametrize("kind", ["pool", "handler", "command"])
def test_a_target_that_is_no_webhook_has_no_request(kind: str):
    target = target_defaults(kind)
    attempt = Attempt(execution_id=ID)

    assert planned_request(target) is None
    assert sent_request(target, Execution(id=ID), attempt) is None
    assert with_body(None, {"n": 1}) is None


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        (None, {}),
        ({"type": "basic", "username": "u", "password": "p"}, {"Authorization": MASK}),
        ({"type": "bearer", "token": "t"}, {"Authorization": MASK}),
        ({"type": "oauth2"}, {"Authorization": MASK}),
        ({"type": "api_key", "name": "X-Team", "value": "v", "in": "header"}, {"X-Team": MASK}),
        ({"type": "api_key", "name": "k", "value": "v", "in": "query"}, {}),
    ],
)
def test_what_proves_who_sends_is_shown_masked(auth: Any, headers: dict[str, str]):
    shown = request({"auth": auth})["headers"]

    assert proof_headers({"auth": auth}) == headers
    assert {name: shown[name] for name in headers} == headers


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/", f"https://a.example/?k%20y={MASK}"),
        ("https://a.example/?x=1#f", f"https://a.example/?x=1&k%20y={MASK}"),
    ],
)
def test_a_key_in_the_query_is_shown_masked(url: str, shown: str):
    auth = {"type": "api_key", "name": "k y", "value": "v", "in": "query"}

    assert shown_url(url, {"auth": auth}) == shown
    assert request({"auth": auth, "url": url})["url"] == shown


def test_the_url_is_shown_as_it_was_sent():
    url = "HTTPS://Faß.de.:0443/größe/\U0001f680?q=a%20b"
    sent = "https://xn--fa-hia.de/gr%C3%B6%C3%9Fe/%F0%9F%9A%80?q=a%20b"

    assert request({"url": url})["url"] == sent
    planned = planned_request({**TARGET, "url": url})
    assert planned is not None
    assert planned["url"] == sent


def test_templates_are_shown_filled_as_far_as_is_known():
    found = request(
        {
            "template": True,
            "url": "https://a.example/{{ labels.team }}?at={{ scheduled_for }}",
            "headers": {"X-Try": "{{ attempt }} of {{task.name}}"},
        }
    )

    assert found["url"] == "https://a.example/{{ labels.team }}?at=2026-11-20T08%3A00%3A00.000Z"
    assert found["headers"]["X-Try"] == "2 of {{ task.name }}"


def test_a_callback_shows_where_it_goes_and_not_its_token():
    headers = request({"completion": "callback"})["headers"]

    assert headers["X-Execution-Token"] == MASK
    assert headers["X-Scheduler-Callback-Url"].endswith(f"/v1/executions/{ID}")


def test_a_raw_body_has_the_type_of_a_text():
    found = request({"body_format": "raw", "headers": {}})

    assert found["headers"]["Content-Type"] == "text/plain; charset=utf-8"


def test_the_trace_is_shown_that_was_sent():
    own, continued = sent(), sent(trace_context="4bf92f3577b34da6a3ce929d0e0e4736-00 rojo=1")

    assert own["traceparent"].split("-")[1] == ID.hex
    assert "tracestate" not in own
    assert continued["traceparent"].split("-")[1] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert continued["tracestate"] == "rojo=1"
