"""TLS contexts by their settings; used by the connector.

A context is made off the event loop, since it reads certificates, once for all who ask for it at
the same time, and kept in bounded number. Tenants share the threads that make contexts. Keys never
touch a disk where the system can avoid it.

Contexts know when their client's certificate ends, for the metrics of the installation.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial

from delivery.errors import DeliveryError
from delivery.joint_calls import JointCalls
from delivery.routes import Tls
from delivery.tenant_cache import TenantCache

log = logging.getLogger(__name__)

MAX_CONTEXTS = 256
#: Contexts that are made at a time; a tenant has at most as many as it leaves free.
_MADE_AT_ONCE = 4
#: A certificate that no connection has used for this long does not count as one in use.
_IN_USE_SECONDS = 86_400.0
#: A certificate that ends sooner is logged with its tenant when its context is made.
ENDS_SOON_SECONDS = 14 * 86_400.0


@cache
def default_context() -> ssl.SSLContext:
    """Return the context of every target without settings, one for all clients of the process.

    Any thread may ask. The system's authorities are read with the first call: a change of them
    counts from the next start.
    """
    return ssl.create_default_context()


@dataclass(slots=True)
class _Kept:
    """A context, the end of its client's certificate, if it has one, and its last use."""

    context: ssl.SSLContext
    #: In seconds since 1970.
    ends_at: float | None
    #: By the monotonic clock.
    used_at: float


class TlsContexts:
    """The contexts of one client; ``default`` serves every target without settings."""

    def __init__(self, default: ssl.SSLContext) -> None:
        self._default = default
        self._kept: TenantCache[str, _Kept] = TenantCache(MAX_CONTEXTS)
        self._making: JointCalls[tuple[str, str], _Kept] = JointCalls(_MADE_AT_ONCE)

    def earliest_end(self) -> float | None:
        """Return when the first of the clients' certificates in use ends, in seconds since 1970.

        In use: one that a connection has asked for within the last day. None where there is none.
        """
        since = time.monotonic() - _IN_USE_SECONDS
        ends = (one.ends_at for one in self._kept.values() if one.used_at > since)
        return min((end for end in ends if end is not None), default=None)

    async def context_of(self, tls: Tls | None, tenant: str = "") -> ssl.SSLContext:
        """Return a tenant's context; DeliveryError ``tls_failed`` for an unusable certificate."""
        if tls is None or tls.is_default:
            return self._default
        key = tls.digest()
        found = self._kept.get(tenant, key)
        if found is None:
            make = partial(self._make, tls, tenant, key)
            found = await self._making.answer((tenant, key), tenant, make)
        found.used_at = time.monotonic()
        return found.context

    async def _make(self, tls: Tls, tenant: str, key: str) -> _Kept:
        context, ends_at = await asyncio.to_thread(lambda: (make_context(tls), _end_of(tls)))
        if ends_at is not None and ends_at < time.time() + ENDS_SOON_SECONDS:
            told = datetime.fromtimestamp(ends_at, UTC).isoformat()
            log.warning("client_certificate_ends", extra={"tenant": tenant, "ends_at": told})
        made = _Kept(context, ends_at, time.monotonic())
        self._kept.keep(tenant, key, made)
        return made


def make_context(tls: Tls) -> ssl.SSLContext:
    """Return a client's context; DeliveryError ``tls_failed`` when a certificate is unusable."""
    try:
        if tls.verify:
            # Authorities of the target's own replace the system's.
            context = ssl.create_default_context(cadata=tls.ca_certificates)
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.client_certificate is not None:
            pem = f"{tls.client_certificate}\n{tls.client_key or ''}\n".encode()
            with _as_file(pem) as path:
                # A key under a password would be asked for on the terminal.
                context.load_cert_chain(path, password=_no_password)
    except (ssl.SSLError, ValueError, OSError) as error:
        # The library's message may name a file and say nothing to a user.
        raise DeliveryError(
            "tls_failed", "The certificates or the key of the target cannot be used."
        ) from error
    return context


def _end_of(tls: Tls) -> float | None:
    """Return when the first certificate of the client's chain ends, None where that is unknown."""
    if tls.client_certificate is None:
        return None
    # Inside: most workers meet no certificate of a client.
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(tls.client_certificate.encode())
    except ValueError:
        # OpenSSL has taken it; a certificate that only the other parser refuses still serves.
        return None
    return min(one.not_valid_after_utc.timestamp() for one in chain)


def _no_password() -> bytes:
    raise ValueError("a private key must not be encrypted")


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give the content a path for a moment: the library reads keys from files only."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
