"""Opens connections: DNS through the guard, TCP to a checked address, TLS on the name.

Called by the HTTP client when the pool has nothing. Every phase shares one deadline; each
address of a name gets its part of it, so that a silent one cannot use up the time of the next.
Through a proxy, proxy and target are both resolved here, and the tunnel leads to the address.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain, zip_longest
from time import perf_counter

from delivery.address_guard import AddressGuard
from delivery.errors import DeliveryError
from delivery.http_connection import Connection, Key, milliseconds
from delivery.routes import Proxy, Route
from delivery.tls import TlsContexts
from delivery.tls_sessions import TlsSessions
from delivery.tunnel import open_tunnel
from shared.addresses import Address, TargetUrl

#: A name may have a thousand addresses; all are checked, the first ones are tried.
MAX_ADDRESSES_TRIED = 6
_TOO_LATE = "The connection was not open in time."
#: Errors of this machine, not of the receiver.
_LOCAL_ERRNOS = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
)


@dataclass(frozen=True, slots=True)
class _Way:
    """The facts that the steps of one opening share."""

    url: TargetUrl
    route: Route | None
    ssl_context: ssl.SSLContext
    sessions: TlsSessions
    #: Checked addresses of the proxy; empty without one.
    proxy_addresses: list[Address]
    timings: dict[str, float]

    @property
    def key(self) -> Key:
        return key_of(self.url, self.route)


class Connector:
    """Opens connections that are pinned to addresses the guard has approved."""

    def __init__(self, guard: AddressGuard, ssl_context: ssl.SSLContext) -> None:
        self._guard = guard
        self._contexts = TlsContexts(ssl_context)
        self._sessions = TlsSessions()

    def earliest_certificate_end(self) -> float | None:
        """Return when the first client certificate in use ends, in seconds since 1970."""
        return self._contexts.earliest_end()

    async def open(
        self,
        url: TargetUrl,
        deadline: float,
        timings: dict[str, float],
        route: Route | None = None,
        tenant: str = "",
    ) -> Connection:
        """Return an open connection and note dns, connect and tls in ``timings`` (ms).

        ``tenant`` is whose call it is: lookups are shared out between tenants. Raise
        ``timeout_connect`` at the deadline (loop time), else the last failure.
        """
        try:
            async with asyncio.timeout_at(deadline):
                context = await self._contexts.context_of(
                    None if route is None else route.tls, tenant
                )
                started = perf_counter()
                proxy_addresses = await self._resolve_proxy(route, tenant)
                addresses = await self._guard.resolve(url.host, url.port, tenant)
                if url.literal is None:
                    timings["dns"] = milliseconds(perf_counter() - started)
                proxies = _in_turn(proxy_addresses)
                way = _Way(url, route, context, self._sessions, proxies, timings)
                return await self._open_first(way, _in_turn(addresses), deadline)
        except TimeoutError:
            raise DeliveryError("timeout_connect", _TOO_LATE) from None

    async def _resolve_proxy(self, route: Route | None, tenant: str) -> list[Address]:
        if route is None or route.proxy is None:
            return []
        url = route.proxy.url
        try:
            return await self._guard.resolve(url.host, url.port, tenant)
        except DeliveryError as error:
            raise DeliveryError(error.code, f"The proxy cannot be used. {error.message}") from error

    async def _open_first(
        self, way: _Way, candidates: list[Address], deadline: float
    ) -> Connection:
        failure = DeliveryError("dns_failed", "The host name has no address.")
        loop = asyncio.get_running_loop()
        for position, address in enumerate(candidates):
            now = loop.time()
            share = now + (deadline - now) / (len(candidates) - position)
            try:
                return await self._open_one(way, address, share)
            except DeliveryError as error:
                if error.code == "address_forbidden":
                    raise
                failure = error
        raise failure

    async def _open_one(self, way: _Way, address: Address, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline):
                started = perf_counter()
                if way.route is not None and way.route.proxy is not None:
                    connection = await _reach_through(way, way.route.proxy, address, deadline)
                else:
                    connection = await _reach(way.key, address, address, way.url.port)
                way.timings["connect"] = milliseconds(perf_counter() - started)
                if way.url.scheme == "https":
                    started = perf_counter()
                    await _start_tls(loop, connection, way, deadline)
                    way.timings["tls"] = milliseconds(perf_counter() - started)
        except TimeoutError:
            raise DeliveryError("timeout_connect", _TOO_LATE) from None
        return connection


def key_of(url: TargetUrl, route: Route | None) -> Key:
    """Return the key of a kept connection: only calls with equal keys may share one."""
    return (url.scheme, url.host, url.port, "" if route is None else route.identity)


async def _start_tls(
    loop: asyncio.AbstractEventLoop, connection: Connection, way: _Way, deadline: float
) -> None:
    handshake = way.sessions.handshake(way.ssl_context, way.key)
    try:
        transport = await loop.start_tls(
            connection.transport,
            connection,
            handshake.as_context(),
            server_hostname=way.url.host,
            # The outer deadline comes first; this only replaces asyncio's 60 s.
            ssl_handshake_timeout=max(deadline - loop.time(), 0.0) + 1.0,
        )
        if transport is None:
            raise DeliveryError("tls_failed", "The TLS handshake failed.")
        connection.connection_made(transport)
    except BaseException as error:
        handshake.failed()
        connection.close()
        # Includes ssl.SSLError and a receiver that hangs up.
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise _tls_error(error) from error
        raise


async def _reach(key: Key, shown: Address, address: Address, port: int) -> Connection:
    """Return a TCP connection to exactly ``address``; as its address it reports ``shown``."""
    loop = asyncio.get_running_loop()
    connection = Connection(loop, key, str(shown))
    try:
        # A textual address is never looked up again.
        await loop.create_connection(lambda: connection, str(address), port)
        peer = connection.transport.get_extra_info("peername")
        if peer is None:
            raise DeliveryError("connection_reset", "The receiver closed the connection at once.")
        if ip_address(peer[0]) != address:
            raise DeliveryError("address_forbidden", "The connection led to another address.")
    except OSError as error:
        connection.close()
        raise _connect_error(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


async def _reach_through(way: _Way, proxy: Proxy, address: Address, deadline: float) -> Connection:
    """Connect to the first address of the proxy that answers, and ask it for the target's."""
    failure = DeliveryError("dns_failed", "The host name of the proxy has no address.")
    loop = asyncio.get_running_loop()
    for position, candidate in enumerate(way.proxy_addresses):
        now = loop.time()
        share = now + (deadline - now) / (len(way.proxy_addresses) - position)
        try:
            async with asyncio.timeout_at(share):
                connection = await _reach(way.key, address, candidate, proxy.url.port)
        except TimeoutError:
            failure = DeliveryError("timeout_connect", "The proxy did not answer in time.")
        except DeliveryError as error:
            failure = DeliveryError(error.code, f"The proxy failed. {error.message}")
        else:
            try:
                await open_tunnel(connection, proxy, address, way.url.port, deadline)
            except BaseException:
                connection.close()
                raise
            return connection
    raise failure


def _tls_error(error: OSError) -> DeliveryError:
    reason = getattr(error, "verify_message", "") or getattr(error, "reason", "")
    detail = f": {reason}" if reason else ""
    return DeliveryError("tls_failed", f"The TLS handshake failed{detail}.")


def _connect_error(error: OSError) -> DeliveryError:
    if isinstance(error, TimeoutError):
        return DeliveryError("timeout_connect", _TOO_LATE)
    if isinstance(error, ConnectionResetError):
        return DeliveryError("connection_reset", "The receiver reset the connection.")
    if error.errno in _LOCAL_ERRNOS:
        return DeliveryError("internal", "The worker is out of sockets or memory.")
    return DeliveryError("connection_refused", "The receiver does not accept connections.")


def _in_turn(addresses: list[Address]) -> list[Address]:
    """Return what to try: families in turn, beginning with the resolver's choice (RFC 8305)."""
    first = [address for address in addresses if address.version == addresses[0].version]
    second = [address for address in addresses if address.version != addresses[0].version]
    pairs = chain.from_iterable(zip_longest(first, second))
    return [address for address in pairs if address is not None][:MAX_ADDRESSES_TRIED]
