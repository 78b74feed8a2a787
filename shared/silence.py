"""Options that detect a silently broken network within twenty seconds instead of hours.

The kernel's own time-outs are two hours for a connection that waits and a quarter of an hour for
one that sends. Unix sockets need none of these options, and refuse some of them.
"""

from __future__ import annotations

import socket
from typing import Any

_IDLE, _INTERVAL, _COUNT = 5, 5, 3

_UNANSWERED_MS = 15_000
#: Options of a socket for the kernel; each system knows some of them.
_KEEPALIVE = {
    "TCP_KEEPIDLE": _IDLE,
    "TCP_KEEPINTVL": _INTERVAL,
    "TCP_KEEPCNT": _COUNT,
    # For data that was sent and not acknowledged: keep-alive sends no probes meanwhile.
    "TCP_USER_TIMEOUT": _UNANSWERED_MS,
}
#: libpq's parameters of a connection; it ignores them on unix sockets.
DATABASE_CLIENT: dict[str, int] = {
    "connect_timeout": 5,
    "keepalives_idle": _IDLE,
    "keepalives_interval": _INTERVAL,
    "keepalives_count": _COUNT,
    "tcp_user_timeout": 10_000,
}
#: The server's settings of a session: it forgets a client that vanished, with its locks.
DATABASE_SESSION: dict[str, int] = {
    "tcp_keepalives_idle": _IDLE,
    "tcp_keepalives_interval": _INTERVAL,
    "tcp_keepalives_count": _COUNT,
    "tcp_user_timeout": 20_000,
}


def redis_options(url: str) -> dict[str, Any]:
    """Return the options for connections to a Redis URL; none for a unix socket."""
    if url.startswith(("unix:", "redis+socket:")):
        return {}
    known = {name: value for name, value in _KEEPALIVE.items() if hasattr(socket, name)}
    options = {getattr(socket, name): value for name, value in known.items()}
    return {"socket_keepalive": True, "socket_keepalive_options": options}
