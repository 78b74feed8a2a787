from __future__ import annotations

import asyncio
import base64
from typing import Any, cast

import orjson
import pytest

from delivery import oauth
from delivery.auth import ClientCredentials
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient
from delivery.oauth import TokenSource
from delivery.routes import read_route
from shared.addresses import AllowList, parse_target_url
from tests.delivery.calls import request_to
from tests.delivery.sites import Answer, FakeClient


def credentials(**parts: Any) -> ClientCredentials:
    values = {
        "token_url": parse_target_url("https://id.example/token", AllowList()),
        "client_id": "client:1",
        "client_secret": "s3cret&",
        "scope": None,
        "audience": None,
    }
    return ClientCredentials(**{**values, **parts})


def granted(number: int = 1, **parts: Any) -> Answer:
    return Answer(body=orjson.dumps({"access_token": f"t{number}", **parts}))


def counting(**parts: Any) -> FakeClient:
    """Return a client whose endpoint gives another token on every call."""

    def answer(_: Any) -> Answer:
        return granted(len(client.requests), **parts)

    client = FakeClient(answer)
    return client


async def ask(
    source: TokenSource,
    auth: ClientCredentials | None = None,
    *,
    tenant: str = "t1",
    seconds: float = 5.0,
    route: Any = None,
    **options: Any,
) -> str:
    deadline = asyncio.get_running_loop().time() + seconds
    request = request_to(8000, route=route)
    return await source.token(tenant, auth or credentials(), request, deadline, **options)


def source_of(client: FakeClient) -> TokenSource:
    return TokenSource(cast(HttpClient, client))


async def failure(answer: Answer | Exception) -> DeliveryError:
    with pytest.raises(DeliveryError) as failed:
        await ask(source_of(FakeClient(lambda _: answer)))
    return failed.value


async def test_the_endpoint_is_asked_as_the_standard_says():
    client = counting()

    await ask(source_of(client), credentials(scope="a b", audience="https://api.example"))

    (request,) = client.requests
    headers = dict(request.headers)
    assert (request.method, request.url.host) == ("POST", "id.example")
    expected = "Basic " + base64.b64encode(b"client%3A1:s3cret%26").decode()
    assert headers["Authorization"] == expected
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.body == (
        b"grant_type=client_credentials&scope=a+b&audience=https%3A%2F%2Fapi.example"
    )


async def test_a_token_is_kept_until_shortly_before_its_end(monkeypatch: pytest.MonkeyPatch):
    client = counting(expires_in=3600)
    source = source_of(client)
    loop = asyncio.get_running_loop()
    now = loop.time()
    first = [await ask(source), await ask(source)]

    monkeypatch.setattr(loop, "time", lambda: now + 3535)
    kept = await ask(source)
    monkeypatch.setattr(loop, "time", lambda: now + 3545)
    fresh = await ask(source)

    assert (first, kept, fresh) == (["t1", "t1"], "t1", "t2")


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        *((3600, 3600), ("600", 600), (1e9, 86400), (0, 0), (-5, 0), ("soon", 300), (None, 300)),
        ({}, 300),
    ],
)
def test_the_life_of_a_token_is_read_and_bounded(said: Any, seconds: float):
    assert oauth._lifetime(said) == seconds


async def test_a_token_without_life_is_used_once():
    source = source_of(counting(expires_in=0))

    assert [await ask(source), await ask(source)] == ["t1", "t2"]


async def test_many_who_need_the_same_token_share_one_call():
    client = counting()
    source = source_of(client)

    assert await asyncio.gather(*[ask(source) for _ in range(20)]) == ["t1"] * 20
    assert len(client.requests) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"client_id": "c2"},
        {"client_secret": "wrong"},
        {"scope": "x"},
        {"audience": "x"},
        {"token_url": parse_target_url("https://id2.example/token", AllowList())},
    ],
)
async def test_other_credentials_have_tokens_of_their_own(other: dict[str, Any]):
    source = source_of(counting())

    assert await ask(source) != await ask(source, credentials(**other))


async def test_no_tenant_gets_the_token_of_another():
    source = source_of(counting())

    assert await ask(source) != await ask(source, tenant="t2")


async def test_a_refused_token_is_fetched_anew_once_for_all():
    client = counting()
    source = source_of(client)
    first = await ask(source)

    fresh = await asyncio.gather(*[ask(source, refused=first) for _ in range(5)])

    assert (first, fresh) == ("t1", ["t2"] * 5)
    # Who was refused the old one later gets the new one without another call.
    assert await ask(source, refused=first) == "t2"
    assert len(client.requests) == 2


async def test_kept_tokens_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oauth, "MAX_TOKENS", 3)
    source = source_of(counting())

    for number in range(9):
        await ask(source, credentials(client_id=str(number)))

    assert len(source._kept) == 3


async def test_no_tenant_pushes_out_the_tokens_of_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oauth, "MAX_TOKENS", 3)
    client = counting()
    source = source_of(client)
    first = await ask(source, tenant="t2")

    for number in range(9):
        await ask(source, credentials(client_id=str(number)))

    assert await ask(source, tenant="t2") == first
    assert client.tenants == ["t2", *["t1"] * 9]


async def test_endpoints_of_one_tenant_that_hang_leave_others_their_calls(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(oauth, "MAX_FETCHES", 4)
    hanging = asyncio.Event()

    class Hanging(FakeClient):
        async def send(self, request: Any, *, tenant: str = "") -> Any:
            if tenant == "t1":
                self.tenants.append(tenant)
                await hanging.wait()
            return await super().send(request, tenant=tenant)

    client = Hanging(lambda _: granted())
    source = source_of(client)
    late = [ask(source, credentials(client_id=str(n)), seconds=0.05) for n in range(50)]

    failed = await asyncio.gather(*late, return_exceptions=True)

    assert {one.code for one in failed if isinstance(one, DeliveryError)} == {"timeout_total"}
    assert client.tenants == ["t1", "t1"]
    assert len(source._fetches) == 2
    assert await ask(source, tenant="t2") == "t1"
    hanging.set()


@pytest.mark.parametrize(
    ("answer", "code", "message", "status"),
    [
        (
            Answer(401, body=b'{"error": "invalid_client", "error_description": "s3cret&"}'),
            "http_status",
            "The token endpoint answered HTTP 401 (invalid_client).",
            401,
        ),
        (
            Answer(503, body=b'{"error": "s3cret&"}'),
            "http_status",
            "The token endpoint answered HTTP 503.",
            503,
        ),
        (Answer(302), "http_status", "The token endpoint answered HTTP 302.", 302),
        (
            Answer(200, body=b"<html>"),
            "response_invalid",
            "The token endpoint's answer holds no token.",
            None,
        ),
        (
            Answer(200, body=b'{"access_token": "a\\r\\nX: 1"}'),
            "response_invalid",
            "The token endpoint's answer holds no token.",
            None,
        ),
        (
            Answer(200, body=b'{"access_token": "a", "token_type": "mac"}'),
            "response_invalid",
            "The token endpoint gave no bearer token.",
            None,
        ),
        (
            DeliveryError("address_forbidden", "Not public."),
            "address_forbidden",
            "The token endpoint failed. Not public.",
            None,
        ),
    ],
)
async def test_a_failure_says_that_the_token_endpoint_failed_and_shows_no_secret(
    answer: Any, code: str, message: str, status: int | None
):
    error = await failure(answer)

    assert (error.code, error.message, error.status) == (code, message, status)


async def test_a_failure_is_not_kept():
    answers: list[Answer] = [Answer(503), granted()]
    source = source_of(FakeClient(lambda _: answers.pop(0)))
    with pytest.raises(DeliveryError):
        await ask(source)

    assert await ask(source) == "t1"


async def test_who_runs_out_of_time_leaves_the_call_to_the_others():
    release = asyncio.Event()

    class Slow(FakeClient):
        async def send(self, request: Any, *, tenant: str = "") -> Any:
            await release.wait()
            return await super().send(request, tenant=tenant)

    client = Slow(lambda _: granted())
    source = source_of(client)
    patient = asyncio.ensure_future(ask(source))
    with pytest.raises(DeliveryError) as late:
        await ask(source, seconds=0.02)
    release.set()

    assert (late.value.code, await patient) == ("timeout_total", "t1")
    assert len(client.requests) == 1


async def test_the_endpoint_is_called_through_the_proxy_without_the_client_certificate():
    target = {
        "proxy": {"url": "http://p.example:3128"},
        "tls": {"verify": False, "client_certificate": "A", "client_key": "K"},
    }
    client = counting()

    await ask(source_of(client), route=read_route(target, "t1", AllowList(), ()))

    route = client.requests[0].route
    assert route is not None
    assert route.proxy is not None
    assert (route.tls.verify, route.tls.client_certificate) == (True, None)
