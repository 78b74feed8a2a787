from __future__ import annotations

import asyncio
import gc
import ssl
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from delivery import tls_sessions
from delivery.errors import DeliveryError
from delivery.http_connection import Key
from delivery.routes import Route, read_route
from delivery.tls_sessions import TlsSessions, reading_leaks
from shared.addresses import AllowList
from tests.delivery.calls import LOOPBACK, http_client, request_to
from tests.delivery.sites import proxy
from tests.support.certificates import SelfSigned, self_signed

KEY: Key = ("https", "name.test", 443, "")
HOUR = 3600.0
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep sessions on every interpreter: what a test loses by reading them is little."""
    monkeypatch.setattr(tls_sessions, "READING_IS_SOUND", True)


@pytest.fixture
def certificate(tmp_path: Path) -> SelfSigned:
    return self_signed(tmp_path, "name.test")


@pytest.fixture
def impostor(tmp_path: Path) -> SelfSigned:
    """Return another certificate for the same name."""
    folder = tmp_path / "impostor"
    folder.mkdir()
    return self_signed(folder, "name.test")


def go_on(tls: ssl.SSLObject) -> None:
    with suppress(ssl.SSLWantReadError):  # it waits for the other side
        tls.do_handshake()


def call(
    sessions: TlsSessions,
    context: ssl.SSLContext,
    server: ssl.SSLContext,
    key: Key = KEY,
    *,
    answer: bytes = b"hi",
) -> ssl.SSLObject:
    """Shake hands and read an answer as an event loop does, in memory; return the client's TLS."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = sessions.handshake(context, key).as_context()
    near = ours.wrap_bio(to_client, to_server, server_side=False, server_hostname=key[1])
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        go_on(near)
        go_on(far)
    far.write(answer)
    assert near.read(len(answer)) == answer
    return near


def resumes(
    sessions: TlsSessions, context: ssl.SSLContext, server: ssl.SSLContext, key: Key = KEY
) -> bool:
    return bool(call(sessions, context, server, key).session_reused)


@pytest.mark.parametrize("version", VERSIONS)
def test_further_connections_resume_the_session_of_the_one_before(
    certificate: SelfSigned, version: ssl.TLSVersion
):
    sessions, context = TlsSessions(), certificate.trusting_context()
    server = certificate.server_context()
    server.maximum_version = version

    assert [resumes(sessions, context, server) for _ in range(4)] == [False, True, True, True]
    assert len(sessions) == 1


@pytest.mark.parametrize(
    "other",
    [
        ("https", "name.test", 444, ""),
        ("https", "name.test", 443, "another route"),
        ("http", "name.test", 443, ""),
    ],
)
def test_a_session_is_not_offered_in_another_place(certificate: SelfSigned, other: Key):
    sessions, context = TlsSessions(), certificate.trusting_context()
    server = certificate.server_context()
    call(sessions, context, server)

    assert not resumes(sessions, context, server, other)
    assert resumes(sessions, context, server)


def test_a_session_is_not_offered_to_another_name_of_the_same_receiver(tmp_path: Path):
    wildcard = self_signed(tmp_path, "*.hosts.test")
    sessions, context = TlsSessions(), wildcard.trusting_context()
    server = wildcard.server_context()
    keys = [("https", f"{name}.hosts.test", 443, "") for name in "abab"]

    assert [resumes(sessions, context, server, key) for key in keys] == [False, False, True, True]


def test_a_session_is_not_offered_under_another_context(certificate: SelfSigned):
    sessions, server = TlsSessions(), certificate.server_context()
    first, second = certificate.trusting_context(), certificate.trusting_context()
    call(sessions, first, server)

    assert [resumes(sessions, context, server) for context in (second, second, first)] == [
        False,
        True,
        True,
    ]


def test_a_certificate_is_believed_for_a_while_only_however_often_it_is_resumed(
    certificate: SelfSigned,
):
    clock = Clock()
    sessions, context = TlsSessions(clock), certificate.trusting_context()
    server = certificate.server_context()
    found = []
    for clock.now in (0, 1.5 * HOUR, 1.9 * HOUR, 2.1 * HOUR, 4 * HOUR):
        found.append(resumes(sessions, context, server))

    assert found == [False, True, True, False, True]


def test_a_receiver_that_has_forgotten_shakes_hands_in_full(certificate: SelfSigned):
    sessions, context = TlsSessions(), certificate.trusting_context()
    call(sessions, context, certificate.server_context())
    restarted = certificate.server_context()

    assert [resumes(sessions, context, restarted) for _ in range(2)] == [False, True]


def test_another_receiver_under_the_name_is_verified(certificate: SelfSigned, impostor: SelfSigned):
    sessions, context = TlsSessions(), certificate.trusting_context()
    call(sessions, context, certificate.server_context())

    with pytest.raises(ssl.SSLCertVerificationError):
        call(sessions, context, impostor.server_context())


def test_a_session_is_not_offered_again_after_a_handshake_that_failed(certificate: SelfSigned):
    sessions, context = TlsSessions(), certificate.trusting_context()
    server = certificate.server_context()
    call(sessions, context, server)

    sessions.handshake(context, KEY).failed()

    assert not resumes(sessions, context, server)


def test_nothing_is_kept_of_a_receiver_that_gives_no_session(certificate: SelfSigned):
    sessions, context = TlsSessions(), certificate.trusting_context()
    call(sessions, context, certificate.server_context())
    mean = certificate.server_context()
    mean.num_tickets = 0
    call(sessions, context, mean)

    assert len(sessions) == 0


def test_nothing_is_kept_of_a_receiver_that_sends_much(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tls_sessions, "MAX_BYTES", 500)
    sessions, context = TlsSessions(), certificate.trusting_context()
    call(sessions, context, certificate.server_context())

    assert len(sessions) == 0


def test_the_session_used_longest_ago_goes_first(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tls_sessions, "MAX_SESSIONS", 2)
    sessions, context = TlsSessions(), certificate.trusting_context()
    server = certificate.server_context()
    a, b, c = ((*KEY[:3], route) for route in "abc")
    for key in (a, b, a, c):
        call(sessions, context, server, key)

    assert len(sessions) == 2
    assert [resumes(sessions, context, server, key) for key in (a, c, b)] == [True, True, False]


def test_sessions_keep_only_so_many_contexts_alive(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tls_sessions, "MAX_CONTEXTS", 1)
    sessions, server = TlsSessions(), certificate.server_context()
    first, second = certificate.trusting_context(), certificate.trusting_context()
    call(sessions, first, server)
    call(sessions, first, server, (*KEY[:3], "route"))
    call(sessions, second, server)
    gone = weakref.ref(first)
    del first
    gc.collect()

    assert gone() is None
    assert len(sessions) == 1
    assert resumes(sessions, second, server)


def test_nothing_is_read_where_reading_loses_memory(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tls_sessions, "READING_IS_SOUND", False)
    sessions, context = TlsSessions(), certificate.trusting_context()
    server = certificate.server_context()

    assert [resumes(sessions, context, server) for _ in range(2)] == [False, False]
    assert sessions.handshake(context, KEY).as_context() is context
    assert len(sessions) == 0


@pytest.mark.parametrize("sound", [True, False])
def test_a_certificate_is_verified_and_not_decoded(
    certificate: SelfSigned, monkeypatch: pytest.MonkeyPatch, sound: bool
):
    monkeypatch.setattr(tls_sessions, "READING_IS_SOUND", sound)
    near = call(TlsSessions(), certificate.trusting_context(), certificate.server_context())

    assert near.getpeercert() is None


@pytest.mark.parametrize(
    ("version", "leaks"),
    [
        ((3, 9, 18), False),
        ((3, 11, 0), True),
        ((3, 11, 14), True),
        ((3, 12, 6), True),
        ((3, 12, 7), False),
        ((3, 13, 0), True),
        ((3, 13, 1), False),
        ((3, 14, 0), False),
    ],
)
def test_versions_that_lose_memory_are_known(version: tuple[int, ...], leaks: bool):
    assert reading_leaks(version) is leaks


class Receiver:
    """What a test may ask of a running receiver: whether each connection was resumed."""

    def __init__(self) -> None:
        self.port = 0
        self.resumed: list[bool] = []


@asynccontextmanager
async def receiver(context: ssl.SSLContext, port: int = 0) -> AsyncIterator[Receiver]:
    """Run a receiver that wants each connection closed after its answer."""
    running = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            running.resumed.append(writer.get_extra_info("ssl_object").session_reused)
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has had enough
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        await server.wait_closed()


def way(certificate: SelfSigned, tenant: str = "t1", proxy_port: int = 0) -> Route | None:
    _, mark, rest = certificate.path.read_text().partition("-----BEGIN CERTIFICATE-----")
    target = {"tls": {"verify": True, "ca_certificates": mark + rest}, "proxy": None}
    if proxy_port:
        target["proxy"] = {"url": f"http://127.0.0.1:{proxy_port}"}
    return read_route(target, tenant, LOOPBACK, ())


ANSWERS = [["127.0.0.1"]] * 9


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_client_resumes_the_session_of_a_closed_connection(
    certificate: SelfSigned, version: ssl.TLSVersion
):
    server = certificate.server_context()
    server.maximum_version = version
    trust = certificate.trusting_context()
    async with receiver(server) as running, http_client(answers=ANSWERS, ssl_context=trust) as ours:
        for _ in range(3):
            request = request_to(running.port, scheme="https", host="name.test", body=b"")
            assert (await ours.send(request)).status == 204

    assert running.resumed == [False, True, True]


async def test_tenants_with_equal_settings_share_no_session(certificate: SelfSigned):
    async with (
        receiver(certificate.server_context()) as running,
        http_client(answers=ANSWERS) as ours,
    ):
        for tenant in ("t1", "t2", "t1", "t2"):
            route = way(certificate, tenant)
            request = request_to(running.port, scheme="https", host="name.test", route=route)
            await ours.send(request)

    assert running.resumed == [False, False, True, True]


async def test_a_session_is_resumed_through_a_tunnel(certificate: SelfSigned):
    async with (
        receiver(certificate.server_context()) as running,
        proxy(lambda _: running.port) as between,
        http_client(answers=ANSWERS) as ours,
    ):
        route = way(certificate, proxy_port=between.port)
        for _ in range(2):
            await ours.send(request_to(9999, scheme="https", host="name.test", route=route))

    assert (running.resumed, between.connections) == ([False, True], 2)


async def test_a_restarted_receiver_is_reached_with_a_whole_handshake(certificate: SelfSigned):
    trust = certificate.trusting_context()
    async with http_client(answers=ANSWERS, ssl_context=trust) as ours:
        async with receiver(certificate.server_context()) as first:
            request = request_to(first.port, scheme="https", host="name.test")
            await ours.send(request)
        async with receiver(certificate.server_context(), first.port) as second:
            await ours.send(request)
            await ours.send(request)

    assert second.resumed == [False, True]


async def test_an_impostor_is_refused_where_a_session_is_known(
    certificate: SelfSigned, impostor: SelfSigned
):
    trust = certificate.trusting_context()
    async with http_client(answers=ANSWERS, ssl_context=trust) as ours:
        async with receiver(certificate.server_context()) as first:
            request = request_to(first.port, scheme="https", host="name.test")
            await ours.send(request)
        async with receiver(impostor.server_context(), first.port) as second:
            with pytest.raises(DeliveryError) as failed:
                await ours.send(request)

    assert (failed.value.code, second.resumed) == ("tls_failed", [])


async def test_an_address_that_is_no_longer_allowed_is_refused_where_a_session_is_known(
    certificate: SelfSigned,
):
    trust, only = certificate.trusting_context(), AllowList(["127.0.0.1"])
    answers = [["127.0.0.1"], ["127.0.0.2"]]
    async with (
        receiver(certificate.server_context()) as running,
        http_client(answers=answers, ssl_context=trust, allow=only, cache_seconds=0) as ours,
    ):
        request = request_to(running.port, scheme="https", host="name.test")
        await ours.send(request)
        with pytest.raises(DeliveryError) as failed:
            await ours.send(request)

    assert (failed.value.code, running.resumed) == ("address_forbidden", [False])
