"""The data keys of tenants as a process knows them: found, unwrapped once and cached.

A tenant's values are sealed under its data key, which is stored wrapped by the master key (see
``shared.key_service``). Web and schedulers find wrapped keys in the database, workers in their
messages: each process installs its source. Two caches, both bounded: unwrapped keys by their ids,
and the key that seals for each tenant, which a rotation replaces within ``ACTIVE_SECONDS``.

One data key would seal 2**32 values with random nonces within days at full speed. So no value is
sealed by it: a process derives a key from it and 16 random bytes, which stand in the value, and
derives another after 2**24 values.
"""

from __future__ import annotations

import hmac
import os
import threading
import time
from collections import OrderedDict
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.key_service import key_service

#: How long a process goes on sealing under a tenant's former key after a rotation.
ACTIVE_SECONDS = 10.0
#: How long a process may open values of a key that was removed meanwhile.
KNOWN_SECONDS = 300.0
SALT_BYTES = 16
_SEALS_OF_A_SALT = 2**24
_LABEL = b"punctual data key v1"
#: Of each cache. A worker that holds 8,000 executions of as many tenants keeps the keys of all.
_KEPT = 32768


_K = TypeVar("_K")
_V = TypeVar("_V")


class Wrapped(NamedTuple):
    """A data key as it is stored and as it travels; ``seals_targets`` does not travel."""

    id: UUID
    tenant: str
    wrapped: bytes
    seals_targets: bool = False


class Source(Protocol):
    """Where a process finds wrapped data keys."""

    def active(self, tenant: str) -> Wrapped | None:
        """Return the key that seals for the tenant; None where the deployment's key does."""

    def find(self, key_id: UUID) -> Wrapped | None:
        """Return a key that was not destroyed."""


class NoKeys:
    """The source of a process that has none: the deployment's key seals."""

    def active(self, tenant: str) -> Wrapped | None:
        """Return None."""

    def find(self, key_id: UUID) -> Wrapped | None:
        """Return None."""


class Arrived:
    """The source of workers: keys that came with messages, in the order of their last arrival."""

    def __init__(self) -> None:
        self._active: OrderedDict[str, Wrapped] = OrderedDict()
        self._known: OrderedDict[UUID, Wrapped] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, tenant: str, keys: list[Wrapped]) -> None:
        """Keep the keys of a tenant that came with a message, the one that seals first."""
        with self._lock:
            former = self._active.get(tenant)
            # The race: a message from before a rotation that arrives after one from behind it. It
            # does not have the key that seals, and its own first one is known already.
            is_late = (
                former is not None
                and bool(keys)
                and keys[0].id in self._known
                and former.id not in {key.id for key in keys}
            )
            for key in keys:
                _keep(self._known, key.id, key)
            if keys and not is_late:
                _keep(self._active, tenant, keys[0])
                if former is None or former.id != keys[0].id:
                    # At once: the outcome of this message may have to outlive the former key.
                    _active.pop(tenant, None)

    def active(self, tenant: str) -> Wrapped | None:
        """Return the first of the tenant's keys that came last."""
        return self._active.get(tenant)

    def find(self, key_id: UUID) -> Wrapped | None:
        """Return a key that came with a message."""
        return self._known.get(key_id)


class DataKey:
    """An unwrapped data key; it derives the keys that seal and open values."""

    __slots__ = (
        *("_left", "_lock", "_salt", "header", "known_until", "seals_targets", "secret", "tenant"),
    )

    def __init__(self, key: Wrapped, secret: bytes) -> None:
        self.tenant = key.tenant
        self.secret = secret
        self.header = header_of(key.id)
        #: Whether URLs and arguments of the tenant's targets are sealed, too.
        self.seals_targets = key.seals_targets
        self.known_until = time.monotonic() + KNOWN_SECONDS
        self._salt, self._left = b"", 0
        self._lock = threading.Lock()

    def salt(self) -> bytes:
        """Return the salt of the next value that this process seals."""
        with self._lock:
            if self._left <= 0:
                self._salt, self._left = os.urandom(SALT_BYTES), _SEALS_OF_A_SALT
            self._left -= 1
            return self._salt

    def forget_salt(self) -> None:
        """Take another salt for the next value: after a fork, two processes have this one."""
        self._left, self._lock = 0, threading.Lock()


class _Active(NamedTuple):
    key: DataKey | None
    until: float


_source: Source = NoKeys()
_known: OrderedDict[bytes, DataKey] = OrderedDict()
_active: OrderedDict[str, _Active] = OrderedDict()
_ciphers: OrderedDict[bytes, AESGCM] = OrderedDict()
#: Tenants whose key a transaction of this process replaces, and until when at most.
_unsettled: OrderedDict[str, float] = OrderedDict()
_guard = threading.Lock()

VERSION = 2


def header_of(key_id: UUID) -> bytes:
    """Return what every value begins with that this key has sealed."""
    return bytes((VERSION, 16)) + key_id.bytes


def use_source(source: Source) -> Source:
    """Take the source of this process into use, with empty caches; return the former one."""
    global _source
    former, _source = _source, source
    _unsettled.clear()
    forget_all()
    return former


def forget_all() -> None:
    """Empty the caches, as after a rotation in this process."""
    with _guard:
        _known.clear()
        _active.clear()
        _ciphers.clear()


def begin_replacing(tenant: str) -> None:
    """Note that a transaction of this process replaces the key that seals for the tenant.

    The transaction may seal under the new key, and roll back. So until :func:`end_replacing` the
    key that seals is read each time, and not kept for values of later transactions.
    """
    with _guard:
        _keep(_unsettled, tenant, time.monotonic() + KNOWN_SECONDS)


def end_replacing(tenant: str) -> None:
    """Empty the caches behind the commit of that transaction."""
    with _guard:
        _unsettled.pop(tenant, None)
    forget_all()


def active_key(tenant: str) -> DataKey | None:
    """Return the key that seals for the tenant; None where the deployment's key does."""
    found = _active.get(tenant)
    if found is None or found.until < time.monotonic():
        wrapped = _source.active(tenant)
        key = None if wrapped is None else _unwrapped(wrapped)
        found = _Active(key, time.monotonic() + ACTIVE_SECONDS)
        if _unsettled.get(tenant, 0.0) < time.monotonic():
            with _guard:
                _keep(_active, tenant, found)
    return found.key


def seals_targets(tenant: UUID | str) -> bool:
    """Return whether URLs and arguments of a tenant's targets are sealed when they are stored.

    False until the operator says, by ``keys reseal``, that no process runs that cannot read them.
    """
    key = active_key(str(tenant))
    return key is not None and key.seals_targets


def key_of(header: bytes) -> DataKey | None:
    """Return the key that has sealed values with this header; None where there is none any more."""
    found = _known.get(header)
    if found is not None and found.known_until > time.monotonic():
        return found
    wrapped = _source.find(UUID(bytes=bytes(header[2:])))
    if wrapped is None:
        with _guard:
            _known.pop(header, None)
        return None
    return _unwrapped(wrapped)


def cipher(key: DataKey, salt: bytes) -> AESGCM:
    """Return the cipher of the key that the data key and a salt make."""
    place = key.header + salt
    found = _ciphers.get(place)
    if found is None:
        found = AESGCM(hmac.digest(key.secret, _LABEL + salt, "sha256"))
        with _guard:
            _keep(_ciphers, place, found)
    return found


def _unwrapped(wrapped: Wrapped) -> DataKey:
    header = header_of(wrapped.id)
    found = _known.get(header)
    if found is None or found.tenant != wrapped.tenant:
        secret = key_service().unwrap(wrapped.wrapped, wrapped.tenant, wrapped.id)
        found = DataKey(wrapped, secret)
    found.known_until = time.monotonic() + KNOWN_SECONDS
    found.seals_targets = wrapped.seals_targets
    with _guard:
        _keep(_known, header, found)
    return found


def _keep(kept: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _KEPT:
        kept.popitem(last=False)


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    for key in list(_known.values()):
        key.forget_salt()


os.register_at_fork(after_in_child=_after_fork)
