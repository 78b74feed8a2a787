"""The HTTP/1.1 client that makes the calls; the only way out to a webhook's receiver.

Called by the run stage, one client per event loop. It promises: no address that the guard has
not approved, no redirect, no cookie, a bounded amount of memory per answer, decompressed or not,
and an end within the time-out, also with a hostile receiver.
"""

from __future__ import annotations

import asyncio
import ssl
from time import perf_counter

from delivery.address_guard import AddressGuard
from delivery.connector import Connector, key_of
from delivery.decompression import decode
from delivery.errors import DeliveryError
from delivery.http_connection import Connection, milliseconds
from delivery.http_messages import Request, Response, encode_request
from delivery.idle_pool import IdlePool
from delivery.tls import default_context

__all__ = ["DeliveryError", "HttpClient", "Request", "Response"]


class HttpClient:
    """Sends requests over kept connections."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        idle_seconds: float = 30,
        max_idle_per_host: int = 256,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._connector = Connector(guard, ssl_context or default_context())
        self._pool = IdlePool(idle_seconds, max_idle_per_host)
        self._closed = False

    async def send(
        self, request: Request, data: bytes | None = None, *, tenant: str = ""
    ) -> Response:
        """Make one call of a tenant and return the answer, of any status.

        ``data`` is the request as it goes over the wire, where it was encoded before.
        DeliveryError when there is no complete answer; ValueError, before anything is sent,
        when a header would break the framing. A request is written once: when a kept
        connection dies under it, it is unknown whether the receiver processed it, and the
        caller's retry policy decides.
        """
        if data is None:
            data = encode_request(request)
        capture_bytes, expects_body = request.capture_bytes, request.method != "HEAD"
        loop = asyncio.get_running_loop()
        # Deadlines are loop time, which uvloop keeps to the millisecond; durations are not.
        deadline = loop.time() + request.timeout
        started = perf_counter()
        timings: dict[str, float] = {}
        connection: Connection | None = None
        try:
            connection = await self._connect(request, deadline, timings, tenant)
            waiter = connection.exchange(
                data, capture_bytes, expects_body=expects_body, deadline=deadline
            )
            # The transport has it; ten thousand waiting requests need no second copy.
            del data, request
            reader = await waiter
        except DeliveryError as error:
            timings["total"] = milliseconds(perf_counter() - started)
            error.timings = timings
            raise
        except BaseException:  # above all cancellation: the answer has no reader any more
            if connection is not None:
                connection.close()
            raise
        timings["first_byte"] = milliseconds(connection.first_byte_at - started)
        timings["total"] = milliseconds(perf_counter() - started)
        response = Response(
            reader.status,
            reader.headers,
            reader.body,
            reader.truncated,
            timings,
            connection.address,
        )
        self._release(connection, loop, reusable=reader.reusable)
        if response.body:
            decode(response, capture_bytes)
        return response

    def earliest_certificate_end(self) -> float | None:
        """Return when the first client certificate in use ends, in seconds since 1970.

        None where targets have none. In use: for a connection of the last day.
        """
        return self._connector.earliest_certificate_end()

    async def close(self) -> None:
        """Close the idle connections; those in use close when their call ends."""
        self._closed = True
        self._pool.close()

    async def _connect(
        self, request: Request, deadline: float, timings: dict[str, float], tenant: str
    ) -> Connection:
        connection = self._pool.take(key_of(request.url, request.route))
        if connection is not None:
            return connection
        connection = await self._open(request, deadline, timings, tenant)
        if not connection.usable:
            raise DeliveryError("connection_reset", "The receiver closed the connection at once.")
        return connection

    async def _open(
        self, request: Request, deadline: float, timings: dict[str, float], tenant: str
    ) -> Connection:
        connect_deadline = deadline - max(0.0, request.timeout - request.connect_timeout)
        try:
            return await self._connector.open(
                request.url, connect_deadline, timings, request.route, tenant
            )
        except DeliveryError as error:
            if error.code == "timeout_connect" and request.timeout < request.connect_timeout:
                error.code = "timeout_total"
            raise

    def _release(
        self, connection: Connection, loop: asyncio.AbstractEventLoop, *, reusable: bool
    ) -> None:
        if reusable and connection.usable and connection.is_drained() and not self._closed:
            self._pool.put(connection, loop)
        else:
            connection.close()
