from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from delivery.address_guard import AddressGuard
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient, Response
from delivery.routes import read_route
from shared.addresses import AllowList
from tests.delivery.calls import LOOPBACK, request_to
from tests.delivery.sites import Answer, proxy, site
from tests.support.certificates import self_signed
from tests.support.raw_receiver import Conversation, raw_receiver

NAMES = {"proxy.test": ["127.0.0.1"], "name.test": ["127.0.0.7"]}


async def send(
    proxy_port: int,
    *,
    names: dict[str, Sequence[str]] | None = None,
    allow: AllowList = LOOPBACK,
    times: int = 1,
    settings: dict[str, Any] | None = None,
    tls: dict[str, Any] | None = None,
    **request: Any,
) -> Response:
    """Send through a proxy of this port; hosts resolve as ``names`` say."""
    asked = {**NAMES, **(names or {})}

    async def resolve(host: str, port: int) -> Sequence[str]:
        return asked[host]

    url = f"http://proxy.test:{proxy_port}"
    target = {"tls": tls, "proxy": {"url": url, **(settings or {})}}
    route = read_route(target, "t1", LOOPBACK, ())
    guard = AddressGuard(allow, resolve)
    client = HttpClient(guard)
    try:
        asked_for = {"host": "name.test", "route": route, **request}
        return [await client.send(request_to(9999, **asked_for)) for _ in range(times)][-1]
    finally:
        await client.close()
        guard.close()


async def failure(proxy_port: int, **options: Any) -> DeliveryError:
    with pytest.raises(DeliveryError) as failed:
        await send(proxy_port, **options)
    return failed.value


async def test_the_proxy_is_asked_for_the_checked_address_and_never_for_the_name():
    async with (
        site(lambda _: Answer(200, body=b"ok")) as target,
        proxy(lambda _: target.port) as running,
    ):
        response = await send(running.port)

    assert (response.status, response.body, response.address) == (200, b"ok", "127.0.0.7")
    (asked,) = running.requests
    assert (asked.method, asked.path) == ("CONNECT", "127.0.0.7:9999")
    assert asked.headers == {"host": "127.0.0.7:9999"}
    assert target.requests[0].headers["host"] == "name.test:9999"
    assert set(response.timings) == {"dns", "connect", "first_byte", "total"}


async def test_an_address_of_version_6_is_in_brackets():
    async with site(lambda _: Answer()) as target, proxy(lambda _: target.port) as running:
        await send(running.port, names={"name.test": ["::1"]})

    assert running.requests[0].path == "[::1]:9999"


async def test_credentials_go_to_the_proxy_and_not_to_the_target():
    async with site(lambda _: Answer()) as target, proxy(lambda _: target.port) as running:
        await send(running.port, settings={"username": "u", "password": "p"})

    expected = "Basic " + base64.b64encode(b"u:p").decode()
    assert running.requests[0].headers["proxy-authorization"] == expected
    assert "proxy-authorization" not in target.requests[0].headers


async def test_tls_goes_through_the_tunnel_and_is_verified_on_the_name(tmp_path: Path):
    server = self_signed(tmp_path, "name.test")
    certificate = server.path.read_text().partition("-----BEGIN CERT")
    authorities = {"verify": True, "ca_certificates": certificate[1] + certificate[2]}
    async with (
        site(lambda _: Answer(204), tls=server.server_context()) as target,
        proxy(lambda _: target.port) as running,
    ):
        response = await send(running.port, scheme="https", tls=authorities)
        wrong = await failure(
            running.port,
            scheme="https",
            host="other.test",
            names={"other.test": ["127.0.0.1"]},
            tls=authorities,
        )

    assert response.status == 204
    assert "tls" in response.timings
    assert wrong.code == "tls_failed"


async def test_a_tunnel_is_kept_for_the_next_request():
    async with site(lambda _: Answer()) as target, proxy(lambda _: target.port) as running:
        await send(running.port, times=3)

    assert (running.connections, len(running.requests), len(target.requests)) == (1, 1, 3)


@pytest.mark.parametrize("status", [407, 403, 502, 301])
async def test_a_proxy_that_refuses_is_a_refused_connection(status: int):
    async with proxy(lambda _: 1, status=status) as running:
        error = await failure(running.port)

    assert error.code == "connection_refused"
    assert error.message == f"The proxy refused the connection (HTTP {status})."


@pytest.mark.parametrize(
    ("answer", "code"),
    [(b"SSH-2.0\r\n\r\n", "response_invalid"), (b"", "connection_reset")],
)
async def test_a_proxy_that_makes_no_sense_is_said_to_have_failed(answer: bytes, code: str):
    async def script(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.send(answer)

    async with raw_receiver(script) as receiver:
        error = await failure(receiver.port)

    assert error.code == code
    assert error.message.startswith("The proxy failed.")


async def test_a_silent_proxy_is_a_connect_timeout():
    async def script(conversation: Conversation) -> None:
        await conversation.hold()

    async with raw_receiver(script) as receiver:
        error = await failure(receiver.port, connect_timeout=0.2)

    assert error.code == "timeout_connect"


async def test_a_closed_port_of_the_proxy_is_said_to_be_the_proxys():
    async with proxy(lambda _: 1) as running:
        port = running.port

    error = await failure(port)

    assert (error.code, error.message[:17]) == ("connection_refused", "The proxy failed.")


@pytest.mark.parametrize(
    ("names", "allow"),
    [
        ({"proxy.test": ["10.0.0.1"]}, LOOPBACK),
        ({"proxy.test": ["127.0.0.1", "169.254.169.254"]}, LOOPBACK),
        ({"name.test": ["10.0.0.1"]}, LOOPBACK),
        ({"name.test": ["127.0.0.7", "fd00:ec2::254"]}, LOOPBACK),
    ],
)
async def test_neither_proxy_nor_target_may_be_forbidden(
    names: dict[str, Sequence[str]], allow: AllowList
):
    async with proxy(lambda _: 1) as running:
        error = await failure(running.port, names=names, allow=allow)

        assert (error.code, running.connections) == ("address_forbidden", 0)


async def test_the_next_address_of_the_proxy_is_tried():
    async with (
        site(lambda _: Answer()) as target,
        proxy(lambda _: target.port, host="127.0.0.1") as running,
    ):
        response = await send(running.port, names={"proxy.test": ["127.0.0.9", "127.0.0.1"]})

    assert response.status == 200
