"""Which tenant a request will turn out to be of, as far as this process knows before it asks.

Threads of the web process are shared by tenants, and a request gets its thread before anything has
looked at its key. So the tenant of each ``Authorization`` header that was verified is remembered,
by a digest. Nothing is allowed or refused for it: it only decides who waits for whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from uuid import UUID

from shared.client_address import counted_socket_address

#: A process that meets more headers than this starts anew.
_MOST = 10_000
_DIGEST_BYTES = 16
_tenants: dict[bytes, str] = {}


def note(authorization: str, tenant_id: UUID) -> None:
    """Remember the tenant of a header whose key or token was just verified."""
    if len(_tenants) >= _MOST:
        _tenants.clear()
    _tenants[_digest(authorization.encode("latin-1"))] = str(tenant_id)


def sharer_of(scope: Mapping[str, Any]) -> str:
    """Return whose share of the threads a request takes: its tenant's, or that of its address.

    Callers with an unknown key, and people with a session, share by the address they come from; in
    IPv6 by its /64, or one customer would have as many shares as it likes.
    """
    for name, value in scope["headers"]:
        if name == b"authorization":
            tenant = _tenants.get(_digest(value))
            if tenant is not None:
                return tenant
            break
    return counted_socket_address(scope)


def _digest(authorization: bytes) -> bytes:
    # Not the header itself: it would keep secrets in memory.
    return blake2b(authorization, digest_size=_DIGEST_BYTES).digest()
