"""One attempt: what is sent, and what each ending is reported as."""

from __future__ import annotations

import base64
import time
from typing import Any, cast

import orjson
import pytest
from standardwebhooks import Webhook

from delivery import attempt
from delivery.attempt import Deliverer, Remembered
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient, Response
from delivery.http_messages import encode_request
from shared import execution_tokens
from shared.addresses import AllowList
from shared.encryption import open_json, seal_json
from tenants.signing import new_signing_secret
from tests.support.attempts import TASK, Client, batch, entry, text


async def deliver(client: Client, given: Any, *secrets: str, at: float = 0.0) -> Any:
    deliverer = Deliverer(cast(HttpClient, client), AllowList())
    return await deliverer.deliver(given, batch(*secrets), at or time.time())


async def test_the_payload_is_sent_signed_and_the_answer_is_captured_sealed() -> None:
    client, secret, given = Client(), new_signing_secret(), entry({"n": 1}, {"X-Team": "billing"})

    outcome = await deliver(client, given, secret)

    (request,) = client.requests
    headers = {name.lower(): value for name, value in request.headers}
    assert Webhook(secret).verify(request.body, headers) == {"n": 1}
    assert (headers["webhook-id"], headers["x-team"]) == (given["id"], "billing")
    assert (outcome["verb"], outcome["status"]) == ("succeeded", 200)
    captured = open_json(outcome["sealed"], f"response:{given['id']}".encode())
    assert base64.b64decode(captured["body"]) == b"ok"


async def test_the_timestamp_is_of_the_databases_clock() -> None:
    client = Client()

    await deliver(client, entry(), at=1000.2)

    assert dict(client.requests[0].headers)["webhook-timestamp"] == "999"


@pytest.mark.parametrize("follows", [False, True])
async def test_no_context_is_made_of_a_trace_while_none_is_recorded(
    monkeypatch: pytest.MonkeyPatch, follows: bool
) -> None:
    def made(*of: Any) -> None:
        raise AssertionError(of)

    monkeypatch.setattr(attempt, "context_of_attempt", made)
    client, given = Client(), entry(target={"follow_redirects": follows})

    await deliver(client, given)

    parts = dict(client.requests[0].headers)["traceparent"].split("-")
    assert (parts[1], parts[3]) == (given["id"].replace("-", ""), "01")


@pytest.mark.parametrize("ahead", [False, True])
async def test_a_request_is_its_tenants_made_ahead_or_not(ahead: bool) -> None:
    client, given = Client(), entry(due=time.time())
    deliverer = Deliverer(cast(HttpClient, client), AllowList())
    if ahead:
        deliverer.prepare(given, batch())

    await deliverer.deliver(given, batch(), time.time())

    assert client.tenants == [given["tenant"]]
    assert (client.sent[0] is not None) >= ahead


async def test_an_execution_may_carry_a_payload_of_its_own() -> None:
    client, given = Client(), entry({"n": 1})
    given["payload"] = text(seal_json({"n": 2}, f"execution:{given['id']}".encode()))

    await deliver(client, given)

    assert orjson.loads(client.requests[0].body) == {"n": 2}


@pytest.mark.parametrize(
    ("payload", "method", "body"),
    [(None, "POST", b""), ({"n": 1}, "GET", b""), ({"n": 1}, "HEAD", b""), (0, "PUT", b"0")],
)
async def test_no_payload_and_methods_without_one_have_no_body(
    payload: Any, method: str, body: bytes
) -> None:
    client = Client()

    await deliver(client, entry(payload, target={"method": method}))

    assert client.requests[0].body == body


@pytest.mark.parametrize(
    ("result", "attempt", "expected"),
    [
        (Response(503, [], b"", False, {}, ""), 1, ("retrying", "FAILED", "http_status", 2.0)),
        (Response(503, [], b"", False, {}, ""), 3, ("failed", "FAILED", "http_status", None)),
        (Response(404, [], b"", False, {}, ""), 1, ("failed", "FAILED", "http_status", None)),
        (
            Response(429, [("Retry-After", "9")], b"", False, {}, ""),
            1,
            ("retrying", "FAILED", "http_status", 9.0),
        ),
        (
            DeliveryError("timeout_total", "late", {"total": 5.0}),
            1,
            ("retrying", "TIMED_OUT", "timeout_total", 2.0),
        ),
    ],
)
async def test_endings_are_retried_as_the_policy_says(
    result: Any, attempt: int, expected: tuple[Any, ...]
) -> None:
    outcome = await deliver(Client(result), entry(attempt=attempt))

    found = (
        outcome["verb"],
        outcome["outcome"],
        outcome["error_code"],
        outcome.get("retry_in"),
    )
    assert found == expected
    if isinstance(result, DeliveryError):
        assert outcome["timings"] == {"total": 5.0}


async def test_a_header_that_cannot_be_framed_fails_for_good() -> None:
    client = Client(ValueError("a header value holds CR, LF or NUL"))

    outcome = await deliver(client, entry())

    assert (outcome["verb"], outcome["error_code"]) == ("failed", "internal")
    assert outcome["reason"] == "not_retryable"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:9000/", "address_forbidden"),
        ("http://api.example.com:22/", "address_forbidden"),
        ("ftp://api.example.com/", "internal"),
    ],
)
async def test_a_url_that_may_not_be_called_any_more_fails_for_good(url: str, code: str) -> None:
    client = Client()

    outcome = await deliver(client, entry(url=url))

    assert client.requests == []
    assert (outcome["verb"], outcome["error_code"]) == ("failed", code)


async def test_what_cannot_be_opened_is_tried_again_without_being_sent() -> None:
    client, given = Client(), entry()
    given["sealed"] = text(b"\x01\x04testnothing that opens, but long enough")

    outcome = await deliver(client, given)

    assert client.requests == []
    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "internal")


async def test_a_message_never_holds_what_cannot_be_stored() -> None:
    outcome = await deliver(Client(DeliveryError("tls_failed", "bad \0 and \ud800")), entry())

    assert outcome["error_message"] == "bad  and ?"


async def test_a_definition_that_comes_again_is_kept_open() -> None:
    client = Client()
    deliverer = Deliverer(cast(HttpClient, client), AllowList())
    given = entry({"n": 1})

    await deliverer.deliver(given, batch(), time.time())
    await deliverer.deliver(given, batch(), time.time())
    # Sealed so that it would not open: the third attempt has it already.
    sealed: Any = {**given, "sealed": "AAAA"}
    await deliverer.deliver(sealed, batch(), time.time())

    assert [request.body for request in client.requests] == [b'{"n":1}'] * 3


async def test_of_definitions_that_never_come_again_little_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("delivery.attempt._MET", 2)
    deliverer = Deliverer(cast(HttpClient, Client()), AllowList())

    for revision in range(1, 6):
        sealed = seal_json({"headers": {}, "payload": None}, f"revision:{TASK}:{revision}".encode())
        given: Any = {**entry(), "revision": revision, "sealed": text(sealed)}
        await deliverer.deliver(given, batch(), time.time())

    assert len(deliverer._met) <= 2
    assert deliverer._plans.get((TASK, 5)) is None


async def test_202_hands_the_job_to_the_receiver_with_all_it_needs_to_end_it() -> None:
    client = Client(Response(202, [], b"ok", False, {"total": 1.0}, "1.1.1.1"))
    given = entry(target={"completion": "callback"})
    given["progress"] = text(seal_json({"at": "50 % ü"}, f"progress:{given['id']}".encode()))

    outcome = await deliver(client, given)

    headers = dict(client.requests[0].headers)
    assert (outcome["verb"], outcome["status"]) == ("accepted", 202)
    assert "sealed" not in outcome
    assert execution_tokens.verify(headers["X-Execution-Token"], given["id"]) == 7
    assert (
        headers["X-Scheduler-Callback-Url"] == f"http://127.0.0.1:8000/v1/executions/{given['id']}"
    )
    assert headers["X-Scheduler-Progress"] == '{"at":"50 % \\u00fc"}'


async def test_an_answer_other_than_202_ends_a_job_at_once() -> None:
    outcome = await deliver(Client(), entry(target={"completion": "callback"}))

    assert (outcome["verb"], outcome["status"]) == ("succeeded", 200)


async def test_a_response_target_gets_no_means_of_ending_and_202_ends_it() -> None:
    client = Client(Response(202, [], b"", False, {}, "1.1.1.1"))

    outcome = await deliver(client, entry())

    assert outcome["verb"] == "succeeded"
    names = {name for name, _ in client.requests[0].headers}
    assert not names & {"X-Execution-Token", "X-Scheduler-Callback-Url", "X-Scheduler-Progress"}


async def test_a_progress_that_is_too_long_for_a_header_is_left_out() -> None:
    client, given = Client(), entry(target={"completion": "callback"})
    sealed = seal_json({"a": "\x7f" * 4096}, f"progress:{given['id']}".encode())

    await deliver(client, {**given, "progress": text(sealed)})

    assert "X-Scheduler-Progress" not in dict(client.requests[0].headers)


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "redirects"])
async def test_equal_targets_are_called_each_at_its_own_url(plain: bool) -> None:
    client, first = Client(), entry(target={"follow_redirects": not plain})
    deliverer = Deliverer(cast(HttpClient, client), AllowList())

    # One object, as entries of a message share it.
    for task, path in (("a", "/a"), ("b", "/b"), ("c", "/a")):
        given: Any = {**entry(url=f"https://api.example.com{path}"), "target": first["target"]}
        given |= {"task": task, "sealed": text(seal_json(
            {"headers": {}, "payload": None}, f"revision:{task}:1".encode()
        ))}  # fmt: skip
        await deliverer.deliver(given, batch(), time.time())

    assert [request.url.path_and_query for request in client.requests] == ["/a", "/b", "/a"]


async def test_the_url_of_the_sealed_part_is_called() -> None:
    client = Client()

    await deliver(client, entry(url=None, secret={"url": "https://api.example.com/s3cret?k=1"}))

    assert client.requests[0].url.path_and_query == "/s3cret?k=1"


async def test_a_version_whose_url_is_nowhere_is_not_called() -> None:
    client = Client()

    outcome = await deliver(client, entry(url=None))

    assert not client.requests
    assert (outcome["verb"], outcome["error_code"]) == ("failed", "internal")


async def test_templates_are_filled_from_the_entry() -> None:
    client = Client()
    given = entry(
        {"n": "{{ attempt }}"},
        {"X-At": "{{ scheduled_for }}"},
        target={"template": True},
        url="https://api.example.com/{{ labels.team }}",
        named={"name": "n", "labels": {"team": "a b"}, "last_success_at": None},
    )

    await deliver(client, given)

    (request,) = client.requests
    assert request.url.path_and_query == "/a%20b"
    assert request.body == b'{"n":"1"}'
    assert dict(request.headers)["X-At"] == "2023-11-14T22:13:20.000Z"


async def test_the_proof_comes_from_the_sealed_part() -> None:
    client = Client()

    await deliver(client, entry(secret={"auth": {"type": "bearer", "token": "t"}}))

    assert dict(client.requests[0].headers)["Authorization"] == "Bearer t"


async def test_an_answer_that_misses_the_criteria_is_retried() -> None:
    success = {"statuses": ["2xx"], "body_pattern": "^done$"}

    outcome = await deliver(Client(), entry(target={"success": success}))

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "response_mismatch")
    assert (outcome["outcome"], outcome["status"]) == ("FAILED", 200)


async def test_the_age_is_counted_by_the_databases_clock() -> None:
    busy = Client(Response(503, [], b"", False, {}, ""))
    policy = {"max_age_seconds": 60}

    # The batch's clock is 0.25 s ahead; the wait is 2 s.
    early = await deliver(busy, entry(policy=policy), at=1_700_000_057.0)
    late = await deliver(busy, entry(policy=policy), at=1_700_000_058.5)

    assert (early["verb"], late["verb"]) == ("retrying", "failed")
    assert late["reason"] == "max_age_exceeded"


async def test_what_cannot_be_opened_is_tried_until_the_attempts_are_used_up() -> None:
    given = {**entry(attempt=3), "sealed": text(b"\x01\x04testnothing that opens, but long enough")}

    outcome = await deliver(Client(), given)

    assert (outcome["verb"], outcome["reason"]) == ("failed", "attempts_exhausted")


async def test_an_encoding_that_was_not_undone_is_captured_with_the_answer() -> None:
    given = entry()

    outcome = await deliver(Client(Response(200, [], b"x", False, {}, "", "br")), given)

    captured = open_json(outcome["sealed"], f"response:{given['id']}".encode())
    assert captured["encoding"] == "br"


def prepared(client: Client, given: Any, of: Any) -> Deliverer:
    deliverer = Deliverer(cast(HttpClient, client), AllowList())
    deliverer.prepare(given, of)
    return deliverer


async def test_what_was_prepared_goes_over_the_wire_as_it_would_have_been_made() -> None:
    client, secret = Client(), new_signing_secret()
    given, of = entry({"n": 1}, {"X-Team": "billing"}, due=1000.25), batch(secret)

    await prepared(client, given, of).deliver(given, of, 1000.3)
    await Deliverer(cast(HttpClient, client), AllowList()).deliver(given, of, 1000.3)

    ahead, at_its_time = client.requests
    assert client.sent == [encode_request(at_its_time)] * 2
    assert (ahead.method, ahead.url, ahead.timeout) == ("POST", at_its_time.url, 30)


async def test_what_was_prepared_is_used_once() -> None:
    client, given = Client(), entry(due=1000.0)
    deliverer = prepared(client, given, batch())

    await deliverer.deliver(given, batch(), 1000.25)
    await deliverer.deliver(given, batch(), 1003.25)

    stamps = [dict(one.headers)["webhook-timestamp"] for one in client.requests]
    assert stamps == ["999", "1003"]


async def test_what_begins_long_after_its_time_is_signed_anew() -> None:
    client, given = Client(), entry(due=1000.25)

    await prepared(client, given, batch()).deliver(given, batch(), 1006.25)

    assert dict(client.requests[0].headers)["webhook-timestamp"] == "1006"


async def test_a_call_of_several_requests_is_not_prepared() -> None:
    client, given = Client(), entry(due=1000.0, target={"follow_redirects": True})

    await prepared(client, given, batch()).deliver(given, batch(), 1000.0)

    assert client.sent == [None]


@pytest.mark.parametrize(
    "broken",
    [{"sealed": "AAAA"}, {"url": "https://api.example.com:22/"}, {"due": None}],
)
async def test_what_cannot_be_prepared_is_left_to_its_attempt(broken: Any) -> None:
    client, given = Client(), entry(**{"due": 1000.0, **broken})

    outcome = await prepared(client, given, batch()).deliver(given, batch(), 1000.0)

    at_its_time = await deliver(Client(), given, at=1000.0)
    assert {**outcome, "sealed": None} == {**at_its_time, "sealed": None}


def test_what_is_remembered_is_bounded_by_its_size() -> None:
    kept: Remembered[str] = Remembered(10)

    for key in "abc":
        kept.keep(key, key, 4)
    kept.keep("huge", "huge", 11)

    assert [kept.get(key) for key in ("a", "b", "c", "huge")] == [None, None, None, None]
    kept.keep("d", "d", 10)
    assert kept.get("d") == "d"


async def test_an_attempt_continues_the_trace_of_the_call_that_made_its_execution() -> None:
    client, given = Client(), entry()
    given["trace"] = "4bf92f3577b34da6a3ce929d0e0e4736-00 rojo=1"

    await deliver(client, given)

    headers = dict(client.requests[0].headers)
    assert headers["traceparent"].startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-")
    assert headers["traceparent"].endswith("-00")
    assert headers["tracestate"] == "rojo=1"
