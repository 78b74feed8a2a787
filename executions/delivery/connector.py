"""Opens connections: DNS through the guard, TCP to a checked address, TLS on the name.

Called by the HTTP client when the pool has nothing. Every phase shares one deadline; each
address of a name gets its part of it, so that a silent one cannot use up the time of the next.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from ipaddress import ip_address
from itertools import chain, zip_longest
from time import perf_counter

from executions.delivery.address_guard import AddressGuard
from executions.delivery.errors import DeliveryError
from executions.delivery.http_connection import Connection, Key, milliseconds
from shared.addresses import Address, TargetUrl

#: A name may have a thousand addresses; all are checked, the first ones are tried.
MAX_ADDRESSES_TRIED = 6
#: Errors of this machine, not of the receiver.
_LOCAL_ERRNOS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
)


class Connector:
    """Opens connections that are pinned to addresses the guard has approved."""

    def __init__(self, guard: AddressGuard, ssl_context: ssl.SSLContext) -> None:
        self._guard = guard
        self._ssl_context = ssl_context

    async def open(self, url: TargetUrl, deadline: float, timings: dict[str, float]) -> Connection:
        """Return an open connection and note dns, connect and tls in ``timings`` (ms).

        ``timeout_connect`` is raised at the deadline (loop time), else what failed last.
        """
        try:
            async with asyncio.timeout_at(deadline):
                started = perf_counter()
                addresses = await self._guard.resolve(url.host, url.port)
                if url.literal is None:
                    timings["dns"] = milliseconds(perf_counter() - started)
                return await self._open_first(url, addresses, deadline, timings)
        except TimeoutError:
            raise DeliveryError("timeout_connect", "The connection was not open in time.") from None

    async def _open_first(
        self, url: TargetUrl, addresses: list[Address], deadline: float, timings: dict[str, float]
    ) -> Connection:
        candidates = _alternate_families(addresses)[:MAX_ADDRESSES_TRIED]
        failure = DeliveryError("dns_failed", "The host name has no address.")
        loop = asyncio.get_running_loop()
        for position, address in enumerate(candidates):
            now = loop.time()
            share = now + (deadline - now) / (len(candidates) - position)
            try:
                return await self._open_one(url, address, share, timings)
            except DeliveryError as error:
                if error.code == "address_forbidden":
                    raise
                failure = error
        raise failure

    async def _open_one(
        self, url: TargetUrl, address: Address, deadline: float, timings: dict[str, float]
    ) -> Connection:
        loop = asyncio.get_running_loop()
        key: Key = (url.scheme, url.host, url.port)
        connection = Connection(loop, key, str(address))
        try:
            async with asyncio.timeout_at(deadline):
                started = perf_counter()
                await _connect(loop, connection, address, url.port)
                timings["connect"] = milliseconds(perf_counter() - started)
                if url.scheme == "https":
                    started = perf_counter()
                    await self._start_tls(loop, connection, url.host, deadline)
                    timings["tls"] = milliseconds(perf_counter() - started)
        except TimeoutError:
            connection.close()
            raise DeliveryError("timeout_connect", "The connection was not open in time.") from None
        except BaseException:
            connection.close()
            raise
        return connection

    async def _start_tls(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: Connection,
        host: str,
        deadline: float,
    ) -> None:
        try:
            transport = await loop.start_tls(
                connection.transport,
                connection,
                self._ssl_context,
                server_hostname=host,
                # The outer deadline comes first; this only replaces asyncio's 60 s.
                ssl_handshake_timeout=max(deadline - loop.time(), 0.0) + 1.0,
            )
        except TimeoutError:
            raise
        except OSError as error:  # includes ssl.SSLError and a receiver that hangs up
            reason = getattr(error, "verify_message", "") or getattr(error, "reason", "")
            detail = f": {reason}" if reason else ""
            raise DeliveryError("tls_failed", f"The TLS handshake failed{detail}.") from error
        if transport is None:
            raise DeliveryError("tls_failed", "The TLS handshake failed.")
        connection.connection_made(transport)


async def _connect(
    loop: asyncio.AbstractEventLoop, connection: Connection, address: Address, port: int
) -> None:
    try:
        # A textual address is never looked up again.
        await loop.create_connection(lambda: connection, str(address), port)
        peer = connection.transport.get_extra_info("peername")
    except OSError as error:
        raise _connect_error(error) from error
    if peer is None:
        raise DeliveryError("connection_reset", "The receiver closed the connection at once.")
    if ip_address(peer[0]) != address:
        raise DeliveryError("address_forbidden", "The connection led to another address.")


def _connect_error(error: OSError) -> DeliveryError:
    if isinstance(error, TimeoutError):
        return DeliveryError("timeout_connect", "The connection was not open in time.")
    if isinstance(error, ConnectionResetError):
        return DeliveryError("connection_reset", "The receiver reset the connection.")
    if error.errno in _LOCAL_ERRNOS:
        return DeliveryError("internal", "The worker is out of sockets or memory.")
    return DeliveryError("connection_refused", "The receiver does not accept connections.")


def _alternate_families(addresses: list[Address]) -> list[Address]:
    """Put the families in turn, beginning with the resolver's choice (as RFC 8305)."""
    first = [address for address in addresses if address.version == addresses[0].version]
    second = [address for address in addresses if address.version != addresses[0].version]
    pairs = chain.from_iterable(zip_longest(first, second))
    return [address for address in pairs if address is not None]
