"""TLS contexts by their settings; used by the connector.

A context is made off the event loop, since it reads certificates, once for all who ask for it at
the same time, and kept: bounded, the one used longest ago goes first. Keys never touch a disk where
the system can avoid it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

from delivery.errors import DeliveryError
from delivery.routes import Tls

MAX_CONTEXTS = 256


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
        #: Made or being made.
        self._kept: OrderedDict[str, asyncio.Task[ssl.SSLContext]] = OrderedDict()

    async def context_of(self, tls: Tls | None) -> ssl.SSLContext:
        """Return the context; DeliveryError ``tls_failed`` when a certificate is unusable."""
        if tls is None or tls.is_default:
            return self._default
        key = tls.digest()
        task = self._kept.get(key)
        if task is None:
            task = asyncio.ensure_future(asyncio.to_thread(make_context, tls))
            self._kept[key] = task
            task.add_done_callback(partial(self._forget_failure, key))
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_CONTEXTS:
            self._kept.popitem(last=False)
        # A caller whose time is up must not end the making for the others.
        return await asyncio.shield(task)

    def _forget_failure(self, key: str, task: asyncio.Task[ssl.SSLContext]) -> None:
        # The exception is seen even when every waiter has left.
        failed = task.cancelled() or task.exception() is not None
        if failed and self._kept.get(key) is task:
            del self._kept[key]


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
