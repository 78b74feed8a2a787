"""Opens a tunnel through an HTTP proxy, to an address that the guard has approved.

Called by the connector on a fresh connection to the proxy. The proxy is never given the target's
name: it would resolve it by itself, to an address that the guard has not checked.
"""

from __future__ import annotations

from delivery.errors import DeliveryError
from delivery.http_connection import Connection
from delivery.routes import Proxy
from shared.addresses import Address


async def open_tunnel(
    connection: Connection, proxy: Proxy, address: Address, port: int, deadline: float
) -> None:
    """Ask the proxy for a tunnel; DeliveryError when it does not open one by the deadline."""
    place = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
    if proxy.authorization is not None:
        head += f"Proxy-Authorization: {proxy.authorization}\r\n"
    try:
        reader = await connection.exchange(
            f"{head}\r\n".encode(), 0, expects_body=False, deadline=deadline
        )
    except DeliveryError as error:
        if error.code == "timeout_total":
            raise DeliveryError(
                "timeout_connect", "The proxy did not open a tunnel in time."
            ) from error
        raise DeliveryError(error.code, f"The proxy failed. {error.message}") from error
    if not 200 <= reader.status <= 299:
        raise DeliveryError(
            "connection_refused", f"The proxy refused the connection (HTTP {reader.status})."
        )
    connection.forget_answer()
