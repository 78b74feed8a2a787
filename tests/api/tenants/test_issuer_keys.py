"""Key sets of a real issuer over HTTP: kept, fetched anew, rotated, away, slow, hostile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from api.tenants import issuer_keys
from api.tenants.issuer_keys import (
    LAST_USE_SECONDS,
    MAX_KEYS,
    MAX_SET_BYTES,
    PAUSE_SECONDS,
    FetchFailed,
    IssuerKeys,
    IssuerUnavailable,
    fetch_keys,
    key_for,
    read_keys,
)
from shared.jwt_issuers import JwtIssuer
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.tokens import issuer_of, key_set, private_key, public_jwk

FIRST, SECOND = private_key("RSA"), private_key("RSA", 1)


class Clock:
    """Seconds that go on when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Iterator[HttpReceiver]:
    with http_receiver() as found:
        found.body = key_set(public_jwk(FIRST, kid="first"))
        yield found


def _issuer(server: HttpReceiver, **parts: Any) -> JwtIssuer:
    return issuer_of(
        jwks_url=server.url,
        **{
            "jwks_networks": ("127.0.0.1/32",),
            "algorithms": ("RS256",),
            "tenants": {"Alpha": uuid4()},
            **parts,
        },
    )


@pytest.fixture
def keys(server: HttpReceiver, clock: Clock) -> IssuerKeys:
    return IssuerKeys(_issuer(server), clock=clock)


def _ids(keys: IssuerKeys, key_id: str | None = None) -> list[str | None]:
    return [one.key_id for one in keys.current(key_id).keys]


def test_a_set_is_fetched_once_and_kept(server, keys, clock):
    assert _ids(keys) == ["first"]
    clock.now += 299
    assert _ids(keys, "first") == ["first"]

    [request] = server.requests
    assert (request.method, request.path) == ("GET", "/hook")
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 300),
        ("max-age=10", 300),
        ("no-store", 300),
        ("public, max-age=3600", 3600),
        ('max-age="900"', 900),
        ("s-maxage=50, max-age=600", 600),
        ("max-age=9999999999", 86_400),
        ("max-age=-1", 300),
        ("max-age=x", 300),
    ],
)
def test_the_answer_says_how_long_within_bounds(server, keys, clock, header, seconds):
    server.headers = {"Cache-Control": header} if header else {}
    keys.current(None)

    clock.now += seconds - 1
    keys.current(None)
    assert len(server.requests) == 1
    clock.now += 1
    if seconds < LAST_USE_SECONDS:
        keys.current(None)
        assert len(server.requests) == 2


def test_a_new_key_is_found_by_its_id_and_the_withdrawn_one_is_gone(server, keys, clock):
    keys.current(None)
    server.body = key_set(public_jwk(SECOND, kid="second"))
    clock.now += PAUSE_SECONDS

    assert _ids(keys, "second") == ["second"]
    assert key_for(keys.current("first"), "RS256", "first") is None


def test_unknown_key_ids_fetch_once_in_thirty_seconds(server, keys, clock):
    keys.current(None)
    clock.now += PAUSE_SECONDS
    for number in range(50):
        keys.current(f"unknown-{number}")
    assert len(server.requests) == 2

    clock.now += PAUSE_SECONDS
    keys.current("unknown")
    assert len(server.requests) == 3


def test_while_the_issuer_is_away_the_last_set_is_used_for_a_day(server, keys, clock):
    keys.current(None)
    server.status = 503

    clock.now += LAST_USE_SECONDS - 1
    assert _ids(keys) == ["first"]
    clock.now += 1
    with pytest.raises(IssuerUnavailable) as raised:
        keys.current(None)

    assert (raised.value.code, raised.value.status) == ("issuer_unavailable", 503)
    assert 1 <= raised.value.retry_after <= 30
    server.status = 200
    clock.now += PAUSE_SECONDS
    assert _ids(keys) == ["first"]


def test_an_issuer_that_never_answered_is_not_asked_by_every_call(server, keys, clock):
    server.status = 500
    for _ in range(20):
        with pytest.raises(IssuerUnavailable):
            keys.current(None)

    assert len(server.requests) == 1


def test_an_issuer_that_withdraws_all_keys_has_none(server, keys, clock):
    keys.current(None)
    server.body = key_set()
    clock.now += 300

    assert _ids(keys) == []


class Slow:
    """A fetch that lasts until the test ends it."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.count = 0

    def __call__(self, issuer: JwtIssuer) -> Any:
        self.count += 1
        if self.count > 1:
            self.begun.set()
            assert self.end.wait(30)
        return read_keys(key_set(public_jwk(FIRST, kid="first"))), 300.0


def test_one_thread_fetches_and_the_others_answer_with_the_set_that_there_is(clock):
    slow = Slow()
    keys = IssuerKeys(issuer_of(tenants={}), slow, clock)
    keys.current(None)
    clock.now += 300
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(keys.current, None)
        assert slow.begun.wait(30)

        others = [keys.current(key_id) for key_id in (None, "first", "unknown")]

        assert slow.count == 2
        slow.end.set()
        assert fetching.result(30).fetched_at > others[0].fetched_at


def test_without_a_set_others_wait_for_the_fetch_and_not_for_long(clock, monkeypatch):
    slow = Slow()
    slow.count = 1  # so that the first fetch lasts
    keys = IssuerKeys(issuer_of(tenants={}), slow, clock)
    with ThreadPoolExecutor(2) as pool:
        fetching = pool.submit(keys.current, None)
        assert slow.begun.wait(30)
        monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 0.01)
        with pytest.raises(IssuerUnavailable):
            keys.current(None)

        monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 30)
        waiting = pool.submit(keys.current, None)
        slow.end.set()

        assert waiting.result(30) is fetching.result(30)
    assert slow.count == 2


def test_issuers_that_are_away_hold_a_few_threads_only(clock):
    slow = Slow()
    slow.count = 1
    issuers = [
        IssuerKeys(issuer_of(tenants={}, issuer=f"https://{number}.example"), slow, clock)
        for number in range(issuer_keys.MOST_BUSY + 1)
    ]
    with ThreadPoolExecutor(issuer_keys.MOST_BUSY) as pool:
        *busy, last = issuers
        fetching = [pool.submit(one.current, None) for one in busy]
        while slow.count < 1 + issuer_keys.MOST_BUSY:
            assert slow.begun.wait(30)
        with pytest.raises(IssuerUnavailable):
            last.current(None)

        slow.end.set()
        assert all(one.result(30).keys for one in fetching)
    assert last.current(None).keys


def test_a_set_that_is_no_set_is_not_taken(server, keys):
    issuer = _issuer(server)
    for body in (b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [], "keys": []}', b"\xff"):
        server.body = body
        with pytest.raises(FetchFailed, match="not_a_key_set"):
            fetch_keys(issuer)


@pytest.mark.parametrize("status", [204, 301, 302, 404, 500])
def test_only_an_answer_of_200_is_taken(server, status):
    server.status = status
    server.headers = {"Location": server.url}

    with pytest.raises(FetchFailed, match=f"http_{status}"):
        fetch_keys(_issuer(server))
    assert len(server.requests) == 1


def test_a_set_is_bounded_in_bytes_and_in_keys(server):
    server.body = b" " * (MAX_SET_BYTES + 1)
    with pytest.raises(FetchFailed):
        fetch_keys(_issuer(server))
    server.body = key_set(*[{"kty": "RSA"}] * (MAX_KEYS + 1))
    with pytest.raises(FetchFailed):
        fetch_keys(_issuer(server))


def test_a_silent_issuer_ends_at_the_time_out(server, monkeypatch):
    monkeypatch.setattr(issuer_keys, "_FETCH_SECONDS", 0.05)
    server.silent = True

    with pytest.raises(FetchFailed, match="timeout"):
        fetch_keys(_issuer(server))


def test_an_address_that_is_not_public_is_refused_unless_the_issuer_names_it(server):
    with pytest.raises(FetchFailed, match="address_forbidden"):
        fetch_keys(_issuer(server, jwks_networks=()))
    assert server.requests == []


@pytest.mark.parametrize(
    "given",
    [
        7,
        {},
        {"kty": 7},
        {"kty": "RSA"},
        {"kty": "RSA", "n": "AQAB", "e": "x"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "oct", "k": "c2VjcmV0"},
        public_jwk(FIRST, use="enc"),
        public_jwk(FIRST, key_ops=["sign"]),
        public_jwk(FIRST, key_ops="verify"),
        public_jwk(FIRST, d="AQAB"),
        public_jwk(FIRST, kid=7),
        public_jwk(FIRST, alg=["RS256"]),
    ],
)
def test_a_key_that_cannot_be_used_is_left_out(given):
    good = public_jwk(SECOND, kid="good")

    assert [one.key_id for one in read_keys(key_set(given, good))] == ["good"]


def test_a_set_of_one_needs_no_key_id():
    issuer_set = IssuerKeys(
        issuer_of(tenants={}), lambda issuer: (read_keys(key_set(public_jwk(FIRST))), 300.0)
    ).current(None)

    assert key_for(issuer_set, "RS256", None) is not None
    assert key_for(issuer_set, "ES256", None) is None
    assert key_for(issuer_set, "RS256", "any") is None
