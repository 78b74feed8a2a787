"""TLS contexts by their settings; used by the connector.

A context is made off the event loop, since it reads certificates, once for all who ask for it at
the same time, and kept in bounded number. Tenants share the threads that make contexts. Keys never
touch a disk where the system can avoid it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

from delivery.errors import DeliveryError
from delivery.joint_calls import JointCalls
from delivery.routes import Tls
from delivery.tenant_cache import TenantCache

MAX_CONTEXTS = 256
#: Contexts that are made at a time; a tenant has at most as many as it leaves free.
_MADE_AT_ONCE = 4


@cache
def default_context() -> ssl.SSLContext:
    """Return the context of every target without settings, one for all clients of the process.

    Any thread may ask. The system's authorities are read with the first call: a change of them
    counts from the next start.
    """
    return ssl.create_default_context()


class TlsContexts:
    """The contexts of one client; ``default`` serves every target without settings."""

    def __init__(self, default: ssl.SSLContext) -> None:
        self._default = default
        self._kept: TenantCache[str, ssl.SSLContext] = TenantCache(MAX_CONTEXTS)
        self._making: JointCalls[tuple[str, str], ssl.SSLContext] = JointCalls(_MADE_AT_ONCE)

    async def context_of(self, tls: Tls | None, tenant: str = "") -> ssl.SSLContext:
        """Return a tenant's context; DeliveryError ``tls_failed`` for an unusable certificate."""
        if tls is None or tls.is_default:
            return self._default
        key = tls.digest()
        found = self._kept.get(tenant, key)
        if found is not None:
            return found
        make = partial(self._make, tls, tenant, key)
        return await self._making.answer((tenant, key), tenant, make)

    async def _make(self, tls: Tls, tenant: str, key: str) -> ssl.SSLContext:
        context = await asyncio.to_thread(make_context, tls)
        self._kept.keep(tenant, key, context)
        return context


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
