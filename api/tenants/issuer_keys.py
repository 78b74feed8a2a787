"""The public keys of token issuers: fetched by our outbound client, kept for a while, by issuer.

A set is fetched anew after the time that its answer allows (5 minutes to a day), and for an
unknown key id; at most once in 30 seconds for each issuer and process, and by one thread. Other
threads go on with the set that there is. While an issuer is away its last set is used for a day at
most.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from delivery.errors import DeliveryError
from delivery.headers import USER_AGENT
from delivery.http_messages import Request, Response
from delivery.one_call import call_once
from shared.addresses import AllowList, UrlError, parse_target_url
from shared.exceptions import InvalidInput, Unavailable
from shared.jwt_issuers import JwtIssuer
from shared.strict_json import read_json

log = logging.getLogger(__name__)

#: Bounds of the time that a set is used without being fetched anew.
MIN_AGE_SECONDS, MAX_AGE_SECONDS = 300.0, 86_400.0
#: How long after its fetch a set is used at most, also while its issuer is away.
LAST_USE_SECONDS = 86_400.0
#: Shortest time between two fetches of one issuer's set.
PAUSE_SECONDS = 30.0
#: How long a thread without any set waits for another thread's fetch.
WAIT_SECONDS = 1.0
MAX_SET_BYTES = 256 * 1024
MAX_KEYS = 100
#: Threads of this process that fetch a set or wait for one; others answer with what there is.
MOST_BUSY = 4
_BUSY = threading.BoundedSemaphore(MOST_BUSY)
_CONNECT_SECONDS, _FETCH_SECONDS = 2.0, 4.0
_RSA_BITS = range(2048, 8193)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,10})\"?(?=$|[,\s;])", re.IGNORECASE)
_PARSERS: dict[str, Any] = {
    "RSA": RSAAlgorithm.from_jwk,
    "EC": ECAlgorithm.from_jwk,
    "OKP": OKPAlgorithm.from_jwk,
}
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


class IssuerUnavailable(Unavailable):
    """The keys of the token's issuer cannot be fetched; try again later."""

    code = "issuer_unavailable"

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key of a set; ``algorithm`` is the only one that it may be used for, if it names one."""

    key_id: str | None
    algorithm: str | None
    key: Any

    def fits(self, algorithm: str) -> bool:
        """Return whether the key is of the kind that the algorithm needs."""
        if self.algorithm not in (None, algorithm):
            return False
        if algorithm[:2] in ("RS", "PS"):
            return isinstance(self.key, RSAPublicKey) and self.key.key_size in _RSA_BITS
        if algorithm in _CURVES:
            is_of_curve = isinstance(self.key, EllipticCurvePublicKey)
            return is_of_curve and self.key.curve.name == _CURVES[algorithm]
        return algorithm == "EdDSA" and isinstance(self.key, Ed25519PublicKey | Ed448PublicKey)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of an answer, with the moments of its fetch and of the next one."""

    keys: tuple[PublicKey, ...]
    fetched_at: float
    fresh_until: float

    def names(self, key_id: str | None) -> bool:
        """Return whether a token with this key id needs no newer set."""
        return key_id is None or any(one.key_id == key_id for one in self.keys)


class FetchFailed(Exception):
    """There is no usable set at the issuer's address; the message is for the log."""


Fetch = Callable[[JwtIssuer], tuple[tuple[PublicKey, ...], float]]


class IssuerKeys:
    """The key set of one issuer in this process."""

    def __init__(
        self, issuer: JwtIssuer, fetch: Fetch | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self.issuer = issuer
        self._fetch = fetch or fetch_keys
        self._clock = clock
        self._lock = threading.Lock()
        self._set: KeySet | None = None
        self._asked_at = float("-inf")

    def current(self, key_id: str | None) -> KeySet:
        """Return the set to verify with; fetch it first where that is needed and allowed.

        Raise IssuerUnavailable where there is none that may be used.
        """
        now, found = self._clock(), self._set
        if found is None or now >= found.fresh_until or not found.names(key_id):
            self._refresh(may_wait=not self._is_usable(found, now))
            found = self._set
        if found is None or not self._is_usable(found, self._clock()):
            left = self._asked_at + PAUSE_SECONDS - self._clock()
            raise IssuerUnavailable(math.ceil(min(max(left, 1.0), PAUSE_SECONDS)))
        return found

    @staticmethod
    def _is_usable(found: KeySet | None, now: float) -> bool:
        return found is not None and now < found.fetched_at + LAST_USE_SECONDS

    def _refresh(self, *, may_wait: bool) -> None:
        # Anybody can name an issuer: away ones must not hold every thread of the process.
        if not _BUSY.acquire(blocking=False):
            return
        try:
            self._fetch_or_wait(may_wait=may_wait)
        finally:
            _BUSY.release()

    def _fetch_or_wait(self, *, may_wait: bool) -> None:
        if not self._lock.acquire(blocking=False):
            # Another thread fetches. Without a set there is nothing to answer with before that.
            if may_wait and self._lock.acquire(timeout=WAIT_SECONDS):
                self._lock.release()
            return
        try:
            now = self._clock()
            if now - self._asked_at < PAUSE_SECONDS:
                return
            self._asked_at = now
            keys, seconds = self._fetch(self.issuer)
            age = min(max(seconds, MIN_AGE_SECONDS), MAX_AGE_SECONDS)
            # A set is as old as its request: what the issuer withdraws meanwhile counts.
            self._set = KeySet(keys, now, now + age)
        except FetchFailed as error:
            log.warning(
                "issuer_keys.not_fetched",
                extra={"issuer": self.issuer.issuer, "reason": str(error)},
            )
        finally:
            self._lock.release()


_registry: dict[str, IssuerKeys] = {}
_registry_lock = threading.Lock()


def keys_of(issuer: JwtIssuer) -> IssuerKeys:
    """Return the keys of an issuer, which it shares with no other."""
    with _registry_lock:
        found = _registry.get(issuer.issuer)
        if found is None or found.issuer != issuer:
            found = _registry[issuer.issuer] = IssuerKeys(issuer)
        return found


def key_for(found: KeySet, algorithm: str, key_id: str | None) -> Any:
    """Return the one key that may have signed: named by its id, or the only one of the set."""
    named = [one for one in found.keys if key_id is None or one.key_id == key_id]
    if key_id is None and len(named) > 1:
        return None
    fitting = [one.key for one in named if one.fits(algorithm)]
    return fitting[0] if len(fitting) == 1 else None


def fetch_keys(issuer: JwtIssuer) -> tuple[tuple[PublicKey, ...], float]:
    """Fetch the set of an issuer, and for how long it may be kept; raise FetchFailed."""
    body, seconds = fetch_document(issuer.jwks_url, AllowList(issuer.jwks_networks))
    return read_keys(body), seconds


def fetch_document(address: str, allow: AllowList) -> tuple[bytes, float]:
    """Fetch what an issuer publishes, and for how long it may be kept; raise FetchFailed."""
    try:
        url = parse_target_url(address, allow, (443,))
        response = call_once(_request(url), allow)
    except UrlError as error:
        raise FetchFailed(error.code) from error
    except DeliveryError as error:
        raise FetchFailed(error.code) from error
    if response.status != 200 or response.truncated or response.encoding:
        raise FetchFailed(f"http_{response.status}" if response.status != 200 else "not_readable")
    return response.body, _max_age(response)


def read_keys(body: bytes) -> tuple[PublicKey, ...]:
    """Return the usable keys of a set (RFC 7517); unknown and unfit ones are left out."""
    try:
        listed = read_json(body)["keys"]
    except (InvalidInput, KeyError, TypeError) as error:
        raise FetchFailed("not_a_key_set") from error
    if not isinstance(listed, list) or len(listed) > MAX_KEYS:
        raise FetchFailed("not_a_key_set")
    return tuple(_usable(listed))


def _usable(listed: Iterable[Any]) -> Iterable[PublicKey]:
    for given in listed:
        if not isinstance(given, dict) or not _is_for_signatures(given):
            continue
        parse = _PARSERS.get(given["kty"])
        key_id, algorithm = given.get("kid"), given.get("alg")
        if parse is None or not isinstance(key_id, str | None):
            continue
        if not isinstance(algorithm, str | None):
            continue
        try:
            key = parse(given)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, OverflowError):
            continue
        yield PublicKey(key_id, algorithm, key)


def _is_for_signatures(given: dict[str, Any]) -> bool:
    operations = given.get("key_ops", ["verify"])
    return (
        isinstance(given.get("kty"), str)
        # The private half: a key that everybody has proves nothing.
        and "d" not in given
        and given.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
    )


def _request(url: Any) -> Request:
    return Request(
        method="GET",
        url=url,
        headers=[("User-Agent", USER_AGENT), ("Accept", "application/json")],
        body=b"",
        connect_timeout=_CONNECT_SECONDS,
        timeout=_FETCH_SECONDS,
        capture_bytes=MAX_SET_BYTES,
    )


def _max_age(response: Response) -> float:
    for name, value in response.headers:
        if name.lower() == "cache-control":
            found = _MAX_AGE.search(value)
            return float(found[1]) if found else 0.0
    return 0.0
