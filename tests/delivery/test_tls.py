from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import load_pem_x509_certificate

from delivery import tls as tls_module
from delivery.errors import DeliveryError
from delivery.routes import Route, Tls, read_route
from delivery.tls import TlsContexts, default_context, make_context
from shared.addresses import AllowList
from tests.delivery.calls import http_client, request_to
from tests.delivery.sites import Answer, site
from tests.support.certificates import self_signed


def split(path: Path) -> tuple[str, str]:
    """Return certificate and key of a file that holds both."""
    key, mark, certificate = path.read_text().partition("-----BEGIN CERTIFICATE-----")
    return mark + certificate, key


def route(tenant: str = "t1", **tls: object) -> Route:
    found = read_route({"tls": {"verify": True, **tls}}, tenant, AllowList(), ())
    assert found is not None
    return found


async def status(port: int, way: Route | None) -> int | str:
    async with http_client(answers=[["127.0.0.1"]] * 2) as client:
        request = request_to(port, scheme="https", host="name.test", route=way)
        try:
            return (await client.send(request)).status
        except DeliveryError as error:
            return error.code


async def test_authorities_of_its_own_judge_a_target(tmp_path: Path):
    server, other = self_signed(tmp_path, "name.test"), self_signed(tmp_path, "other.test")
    async with site(lambda _: Answer(204), tls=server.server_context()) as running:
        trusted = await status(running.port, route(ca_certificates=split(server.path)[0]))
        foreign = await status(running.port, route(ca_certificates=split(other.path)[0]))
        unknown = await status(running.port, None)

    assert (trusted, foreign, unknown) == (204, "tls_failed", "tls_failed")


async def test_verification_can_be_switched_off_for_a_target(tmp_path: Path):
    server = self_signed(tmp_path, "another.name", expired=True)
    async with site(lambda _: Answer(204), tls=server.server_context()) as running:
        assert await status(running.port, route(verify=False)) == 204


async def test_a_client_certificate_is_shown(tmp_path: Path):
    server, client = self_signed(tmp_path, "name.test"), self_signed(tmp_path, "client.test")
    context = server.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(client.path)
    authorities = split(server.path)[0]
    certificate, key = split(client.path)
    async with (
        site(lambda _: Answer(204), tls=context) as running,
        http_client(answers=[["127.0.0.1"]]) as shows,
    ):
        known = route(ca_certificates=authorities, client_certificate=certificate, client_key=key)
        request = request_to(running.port, scheme="https", host="name.test", route=known)
        ends = [shows.earliest_certificate_end()]
        shown = (await shows.send(request)).status
        ends.append(shows.earliest_certificate_end())
        hidden = await status(running.port, route(ca_certificates=authorities))

    assert shown == 204
    end = load_pem_x509_certificate(certificate.encode()).not_valid_after_utc
    assert ends == [None, end.timestamp()]
    assert hidden in ("tls_failed", "connection_reset")


async def test_no_connection_is_shared_between_identities(tmp_path: Path):
    server = self_signed(tmp_path, "name.test")
    authorities = split(server.path)[0]
    ways = [
        route(ca_certificates=authorities),
        route("t2", ca_certificates=authorities),
        route(verify=False),
    ]
    async with (
        site(lambda _: Answer(204), tls=server.server_context()) as running,
        http_client(answers=[["127.0.0.1"]] * 9) as client,
    ):
        for way in (*ways, *ways):
            request = request_to(running.port, scheme="https", host="name.test", route=way)
            await client.send(request)

        assert (len(running.requests), running.connections) == (6, 3)


@pytest.mark.parametrize(
    "tls",
    [
        Tls(ca_certificates="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        Tls(ca_certificates="no PEM"),
        Tls(client_certificate="no PEM", client_key="no PEM"),
    ],
)
def test_certificates_that_make_no_sense_are_a_tls_failure(tls: Tls):
    with pytest.raises(DeliveryError) as failed:
        make_context(tls)

    assert failed.value.code == "tls_failed"
    assert failed.value.message == "The certificates or the key of the target cannot be used."


def test_a_key_under_a_password_fails_without_asking_for_it(tmp_path: Path):
    certificate, key = split(self_signed(tmp_path, "client.test").path)
    locked = serialization.load_pem_private_key(key.encode(), None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )

    with pytest.raises(DeliveryError, match="cannot be used"):
        make_context(Tls(client_certificate=certificate, client_key=locked.decode()))


def test_a_key_of_another_certificate_is_refused(tmp_path: Path):
    certificate, _ = split(self_signed(tmp_path, "a.test").path)
    _, key = split(self_signed(tmp_path, "b.test").path)

    with pytest.raises(DeliveryError, match="cannot be used"):
        make_context(Tls(client_certificate=certificate, client_key=key))


def test_keys_are_read_where_the_system_has_no_files_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    certificate, key = split(self_signed(tmp_path, "a.test").path)
    monkeypatch.delattr("os.memfd_create")

    context = make_context(Tls(client_certificate=certificate, client_key=key))

    assert context.verify_mode == ssl.CERT_REQUIRED


async def test_contexts_are_kept_by_their_content_and_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tls_module, "MAX_CONTEXTS", 2)
    default = ssl.create_default_context()
    contexts = TlsContexts(default)
    made: list[Tls] = []

    def make(tls: Tls) -> object:
        made.append(tls)
        return object()

    monkeypatch.setattr(tls_module, "make_context", make)

    first = await contexts.context_of(Tls(ca_certificates="a"))
    again = await contexts.context_of(Tls(ca_certificates="a"))
    for name in "bc":
        await contexts.context_of(Tls(ca_certificates=name))
    await contexts.context_of(Tls(ca_certificates="a"))

    assert first is again
    assert [tls.ca_certificates for tls in made] == ["a", "b", "c", "a"]
    assert await contexts.context_of(None) is await contexts.context_of(Tls()) is default


async def test_no_tenant_pushes_out_the_contexts_of_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tls_module, "MAX_CONTEXTS", 2)
    monkeypatch.setattr(tls_module, "make_context", lambda _: object())
    contexts = TlsContexts(default_context())
    first = await contexts.context_of(Tls(ca_certificates="a"), "t1")

    for name in "bcd":
        await contexts.context_of(Tls(ca_certificates=name), "t2")

    assert await contexts.context_of(Tls(ca_certificates="a"), "t1") is first


OWN, CONTEXT = Tls(ca_certificates="a"), object()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Return what makes the contexts to come, one after the other."""
    steps: list[Callable[[], object]] = []
    monkeypatch.setattr(tls_module, "make_context", lambda _: steps.pop(0)())
    return steps


async def test_those_who_ask_at_once_share_one_context(made: list[Callable[[], object]]):
    contexts = TlsContexts(default_context())
    made += [object, object]

    first, *others = await asyncio.gather(*[contexts.context_of(OWN) for _ in range(3)])

    assert others == [first, first]
    assert len(made) == 1


async def test_a_caller_whose_time_is_up_does_not_end_the_making_of_a_context(
    made: list[Callable[[], object]],
):
    contexts, released = TlsContexts(default_context()), Event()
    made.append(lambda: released.wait(10) and CONTEXT)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await contexts.context_of(OWN)

    released.set()

    assert await contexts.context_of(OWN) is CONTEXT


async def test_a_context_that_could_not_be_made_is_tried_again(made: list[Callable[[], object]]):
    def fail() -> object:
        raise DeliveryError("tls_failed", "no")

    contexts = TlsContexts(default_context())
    made += [fail, lambda: CONTEXT]

    failed = await asyncio.gather(
        *[contexts.context_of(OWN) for _ in range(2)], return_exceptions=True
    )

    assert [type(one) for one in failed] == [DeliveryError, DeliveryError]
    assert await contexts.context_of(OWN) is CONTEXT


async def test_the_first_end_of_the_certificates_in_use_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    contexts = TlsContexts(default_context())
    assert contexts.earliest_end() is None
    ends = []
    for name, is_expired in (("old.test", True), ("new.test", False)):
        path = self_signed(tmp_path, name, expired=is_expired).path
        certificate, key = split(path)
        ends.append(load_pem_x509_certificate(certificate.encode()).not_valid_after_utc)
        await contexts.context_of(Tls(client_certificate=certificate, client_key=key), "t1")

    assert contexts.earliest_end() == ends[0].timestamp() < ends[1].timestamp()
    told = [one for one in caplog.records if one.msg == "client_certificate_ends"]
    assert [(one.tenant, one.ends_at) for one in told] == [  # type: ignore[attr-defined]  # extras
        ("t1", end.isoformat()) for end in ends
    ]
    # No connection has asked for either within the last day.
    monkeypatch.setattr(tls_module, "_IN_USE_SECONDS", 0.0)
    assert contexts.earliest_end() is None


async def test_a_target_without_a_certificate_of_its_own_has_no_end(tmp_path: Path):
    contexts = TlsContexts(default_context())
    authorities = split(self_signed(tmp_path, "name.test").path)[0]

    await contexts.context_of(Tls(ca_certificates=authorities), "t1")

    assert contexts.earliest_end() is None


def test_the_systems_authorities_are_read_once():
    assert default_context() is default_context()
    assert default_context().verify_mode == ssl.CERT_REQUIRED
    assert default_context().check_hostname
