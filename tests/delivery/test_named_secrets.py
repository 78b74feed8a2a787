"""Named secrets of an attempt: resolved last, for their destination only, and never repeated."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, cast

import pytest

from delivery.attempt import Deliverer
from delivery.http_client import HttpClient, Response
from shared.addresses import AllowList
from shared.encryption import open_json, seal_json
from shared.named_secrets.bindings import Binding
from shared.named_secrets.sealed import seal_secret
from tests.support.attempts import TENANT, Client, batch, entry, text

VALUE = "s3cret-value-0815"
AUTH = {"type": "bearer", "token": "{{ secrets.token }}"}
HEADERS = {"X-Key": "k={{ secrets.token }}"}
NAMED = {"named_secrets": ["token"]}


def sent_with(value: str = VALUE, host: str = "api.example.com") -> Any:
    sealed = seal_secret(TENANT, "token", value, Binding(hosts=[host]))
    return {**batch(), "named_secrets": {TENANT: {"token": text(sealed)}}}


async def deliver(client: Client, given: Any, message: Any) -> Any:
    return await Deliverer(cast(HttpClient, client), AllowList()).deliver(
        given, message, 1_700_000_000.0
    )


def headers_of(client: Client) -> dict[str, str]:
    [request] = client.requests
    return dict(request.headers)


async def test_values_are_inserted_in_authentication_and_headers():
    client = Client()

    outcome = await deliver(
        client, entry(headers=HEADERS, secret={"auth": AUTH}, target=NAMED), sent_with()
    )

    assert outcome["verb"] == "succeeded"
    assert headers_of(client)["Authorization"] == f"Bearer {VALUE}"
    assert headers_of(client)["X-Key"] == f"k={VALUE}"


async def test_a_new_value_counts_from_the_next_attempt():
    client, given = Client(), entry(headers=HEADERS, target=NAMED)
    deliverer = Deliverer(cast(HttpClient, client), AllowList())

    for value in (VALUE, VALUE, "another-value-4711"):
        await deliverer.deliver(given, sent_with(value), 1_700_000_000.0)

    found = [dict(request.headers)["X-Key"] for request in client.requests]
    assert found == [f"k={VALUE}", f"k={VALUE}", "k=another-value-4711"]


async def test_without_the_mark_of_the_version_braces_are_text():
    client = Client()

    await deliver(client, entry(headers=HEADERS), sent_with())

    assert headers_of(client)["X-Key"] == "k={{ secrets.token }}"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(batch, id="gone"),
        pytest.param(lambda: sent_with(host="other.example.com"), id="bound elsewhere"),
        pytest.param(lambda: sent_with("no\nheader"), id="unfit"),
    ],
)
async def test_a_secret_that_is_gone_bound_elsewhere_or_unfit_fails_for_good(
    message: Callable[[], Any],
):
    client = Client()

    outcome = await deliver(client, entry(headers=HEADERS, target=NAMED), message())

    assert not client.requests
    assert (outcome["verb"], outcome["error_code"]) == ("failed", "secret_unavailable")
    assert "token" in outcome["error_message"]
    assert VALUE not in outcome["error_message"]


async def test_an_answer_that_repeats_a_secret_is_kept_masked():
    answer = Response(
        200, [("X-Echo", f"got {VALUE}")], f"you sent {VALUE}".encode(), False, {}, "1.1.1.1"
    )
    given = entry(headers=HEADERS, target=NAMED)

    outcome = await deliver(Client(answer), given, sent_with())

    captured = open_json(outcome["sealed"], f"response:{given['id']}".encode())
    assert base64.b64decode(captured["body"]) == b"you sent [redacted]"
    assert captured["headers"] == [["X-Echo", "got [redacted]"]]


async def test_a_template_of_a_header_and_a_secret_are_filled_in_one_pass():
    client = Client()
    named: Any = {"name": "{{ secrets.token }}", "labels": {}, "last_success_at": None}
    given = entry(
        headers={"X-Key": "{{ task.name }} {{ secrets.token }}"},
        target={**NAMED, "template": True},
        named=named,
    )

    await deliver(client, given, sent_with())

    assert headers_of(client)["X-Key"] == f"{{{{ secrets.token }}}} {VALUE}"


async def test_a_payload_never_gets_a_secret():
    client = Client()
    given = entry(
        payload={"x": "{{ secrets.token }}"},
        headers=HEADERS,
        target={**NAMED, "template": True},
        named={"name": "n", "labels": {}, "last_success_at": None},
    )

    await deliver(client, given, sent_with())

    assert VALUE.encode() not in client.requests[0].body


def rendered(headers: dict[str, Any], url: str = "https://api.example.com/x") -> Any:
    given = entry(headers=HEADERS, target={**NAMED, "rendered": True})
    own = {"payload": None, "url": url, "headers": headers}
    sealed = seal_json(own, f"execution:{given['id']}".encode())
    return {**given, "payload": text(sealed)}


async def test_a_step_gets_its_secret_and_an_inserted_answer_gets_none():
    client = Client()
    own = {"X-Key": ["{{ secrets.token }} ", {"secret": "token"}, ""], "X-B": "{{ secrets.token }}"}

    await deliver(client, rendered(own), sent_with())

    assert headers_of(client)["X-Key"] == f"{{{{ secrets.token }}}} {VALUE}"
    assert headers_of(client)["X-B"] == "{{ secrets.token }}"


async def test_a_step_that_was_rendered_to_another_host_gets_no_secret():
    client = Client()

    outcome = await deliver(client, rendered({}, "https://evil.example/x"), sent_with())

    assert not client.requests
    assert outcome["error_code"] == "secret_unavailable"


async def test_a_secret_in_a_plain_header_does_not_follow_a_redirect_to_another_host():
    class Redirecting(Client):
        async def send(
            self, request: Any, data: bytes | None = None, *, tenant: str = ""
        ) -> Response:
            await super().send(request, data, tenant=tenant)
            if len(self.requests) == 1:
                where = [("Location", "https://evil.example/")]
                return Response(307, where, b"", False, {}, "1.1.1.1")
            return Response(200, [], b"", False, {}, "1.1.1.1")

    client = Redirecting()
    given = entry(headers=HEADERS, target={**NAMED, "follow_redirects": True})

    await deliver(client, given, sent_with())

    assert [request.url.host for request in client.requests] == ["api.example.com", "evil.example"]
    assert "X-Key" in dict(client.requests[0].headers)
    assert "X-Key" not in dict(client.requests[1].headers)
