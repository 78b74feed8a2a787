from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from ipaddress import ip_address

import pytest

from delivery import connector as connector_module
from delivery.address_guard import AddressGuard
from delivery.connector import Connector
from delivery.errors import DeliveryError
from shared.addresses import AllowList, parse_target_url
from tests.delivery.calls import LOOPBACK
from tests.support.certificates import self_signed
from tests.support.raw_receiver import raw_receiver


async def _hold(conversation):
    await conversation.hold()


async def _open(url, answers, *, seconds=60.0, allow=LOOPBACK, context=None):
    async def resolve(host, port):
        return answers

    loop = asyncio.get_running_loop()
    connector = Connector(AddressGuard(allow, resolve), context or ssl.create_default_context())
    timings: dict[str, float] = {}
    target = parse_target_url(url, allow)
    connection = await connector.open(target, loop.time() + seconds, timings)
    address = connection.address
    connection.close()
    return address, timings


async def _failure(url, answers, **options):
    with pytest.raises(DeliveryError) as caught:
        await _open(url, answers, **options)
    return caught.value.code


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _black_hole(host, port=0):
    """Return a listener that drops SYNs, since its queue of connections is full."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(0)
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        fillers.append(filler)
    return listener, fillers


async def test_connection_is_pinned_to_a_checked_address():
    async with raw_receiver(_hold) as receiver:
        address, timings = await _open(f"http://name.test:{receiver.port}/", ["127.0.0.1"])

    assert address == "127.0.0.1"
    assert set(timings) == {"dns", "connect"}


async def test_literal_needs_no_dns():
    async with raw_receiver(_hold) as receiver:
        _, timings = await _open(f"http://127.0.0.1:{receiver.port}/", [])

    assert set(timings) == {"connect"}


async def test_next_address_is_tried_when_one_refuses():
    async with raw_receiver(_hold) as receiver:
        address, _ = await _open(
            f"http://name.test:{receiver.port}/", ["127.0.0.9", "127.0.0.8", "127.0.0.1"]
        )

    assert address == "127.0.0.1"


async def test_silent_address_leaves_time_for_the_next():
    async with raw_receiver(_hold) as receiver:
        listener, fillers = _black_hole("127.0.0.2", receiver.port)
        try:
            address, _ = await _open(
                f"http://name.test:{receiver.port}/", ["127.0.0.2", "127.0.0.1"], seconds=4
            )
        finally:
            for held in (*fillers, listener):
                held.close()

    assert address == "127.0.0.1"


async def test_black_hole_is_a_connect_timeout():
    listener, fillers = _black_hole("127.0.0.1")
    try:
        code = await _failure(f"http://127.0.0.1:{listener.getsockname()[1]}/", [], seconds=0.2)
    finally:
        for held in (*fillers, listener):
            held.close()

    assert code == "timeout_connect"


async def test_closed_port_is_refused():
    assert await _failure(f"http://127.0.0.1:{_free_port()}/", []) == "connection_refused"


async def test_forbidden_address_is_never_connected_to():
    async with raw_receiver(_hold) as receiver:
        code = await _failure(
            f"http://name.test:{receiver.port}/",
            ["127.0.0.1", "127.0.0.2"],
            allow=AllowList(["127.0.0.1"]),
        )

        assert (code, receiver.connections) == ("address_forbidden", 0)


async def test_silent_dns_is_a_connect_timeout():
    async def never(host, port):
        await asyncio.Event().wait()

    guard = AddressGuard(LOOPBACK, never)
    connector = Connector(guard, ssl.create_default_context())
    target = parse_target_url("http://name.test/", LOOPBACK)

    with pytest.raises(DeliveryError) as caught:
        await connector.open(target, asyncio.get_running_loop().time() + 0.1, {})
    guard.close()

    assert caught.value.code == "timeout_connect"


async def test_peer_that_is_not_the_checked_address_is_forbidden(monkeypatch):
    async with raw_receiver(_hold) as receiver:
        loop = asyncio.get_running_loop()
        create_connection = loop.create_connection

        async def diverted(factory, host, port):
            return await create_connection(factory, "127.0.0.1", port)

        monkeypatch.setattr(loop, "create_connection", diverted)

        code = await _failure(f"http://name.test:{receiver.port}/", ["127.0.0.2"])

    assert code == "address_forbidden"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.EMFILE, "too many open files"), "internal"),
        (OSError(errno.EADDRNOTAVAIL, "no ports"), "internal"),
        (OSError(errno.ENETUNREACH, "unreachable"), "connection_refused"),
        (OSError(errno.EHOSTUNREACH, "no route"), "connection_refused"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "connection_refused"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "connection_reset"),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), "timeout_connect"),
    ],
)
def test_error_of_the_system_has_a_code(error, code):
    assert connector_module._connect_error(error).code == code


def test_families_take_turns_beginning_with_the_first():
    addresses = [ip_address(text) for text in ("::1", "::2", "::3", "10.0.0.1")]

    ordered = connector_module._in_turn(addresses)

    assert [str(address) for address in ordered] == ["::1", "10.0.0.1", "::2", "::3"]


async def test_tls_is_verified_against_the_name(tmp_path):
    certificate = self_signed(tmp_path, "name.test")
    async with raw_receiver(_hold, tls=certificate.server_context()) as receiver:
        _, timings = await _open(
            f"https://name.test:{receiver.port}/",
            ["127.0.0.1"],
            context=certificate.trusting_context(),
        )

    assert set(timings) == {"dns", "connect", "tls"}


async def test_self_signed_certificate_is_not_trusted(tmp_path):
    certificate = self_signed(tmp_path, "name.test")
    async with raw_receiver(_hold, tls=certificate.server_context()) as receiver:
        code = await _failure(f"https://name.test:{receiver.port}/", ["127.0.0.1"])

    assert code == "tls_failed"


@pytest.mark.parametrize(("name", "expired"), [("other.test", False), ("name.test", True)])
async def test_certificate_for_another_name_or_time_is_refused(tmp_path, name, expired):
    certificate = self_signed(tmp_path, name, expired=expired)
    async with raw_receiver(_hold, tls=certificate.server_context()) as receiver:
        code = await _failure(
            f"https://name.test:{receiver.port}/",
            ["127.0.0.1"],
            context=certificate.trusting_context(),
        )

    assert code == "tls_failed"


async def test_old_tls_version_is_refused(tmp_path):
    certificate = self_signed(tmp_path, "name.test")
    old = certificate.trusting_context()
    old.minimum_version = ssl.TLSVersion.TLSv1_3
    server = certificate.server_context()
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    async with raw_receiver(_hold, tls=server) as receiver:
        code = await _failure(f"https://name.test:{receiver.port}/", ["127.0.0.1"], context=old)

    assert code == "tls_failed"


async def _greet(conversation):
    await conversation.send(b"220 mail.example ESMTP\r\n")
    await conversation.hold()


async def _reset(conversation):
    conversation.reset()


async def _close(conversation):
    return None


@pytest.mark.parametrize("script", [_greet, _reset, _close])
async def test_receiver_without_tls_fails_the_handshake(script):
    async with raw_receiver(script) as receiver:
        code = await _failure(f"https://127.0.0.1:{receiver.port}/", [])

    assert code in ("tls_failed", "connection_reset")


async def test_stalled_handshake_is_a_connect_timeout():
    async with raw_receiver(_hold) as receiver:
        code = await _failure(f"https://127.0.0.1:{receiver.port}/", [], seconds=0.2)
        await receiver.script_ended.wait()

    assert code == "timeout_connect"
