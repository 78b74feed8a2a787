"""Open connections that wait for their next request.

Owned by the HTTP client. The freshest connection is used first; the oldest go when they have
been idle too long, or when there are too many in all, since each holds a descriptor.
"""

from __future__ import annotations

import asyncio
import resource

from delivery.http_connection import Connection, Key


def room_for(descriptors: int) -> int:
    """Return how many connections may idle in a process that may open ``descriptors`` files.

    Half of them at most: the other half is for connections at work. Negative: no limit.
    """
    return 2048 if descriptors < 0 else min(2048, descriptors // 2)


#: All hosts together: a thousand that are called in turn keep their connections.
MAX_IDLE_CONNECTIONS = room_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
#: Seconds between two sweeps at least: each checks every connection. Not more, since connections
#: that are closed in one sweep hold up the loop.
_SWEEP_PAUSE = 0.1


class IdlePool:
    """Idle connections by their keys, and in the order in which they fell idle."""

    def __init__(self, idle_seconds: float, max_idle_per_host: int) -> None:
        self._idle_seconds = idle_seconds
        self._max_idle_per_host = max_idle_per_host
        self._by_key: dict[Key, list[Connection]] = {}
        self._in_order: dict[Connection, None] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._in_order)

    def take(self, key: Key) -> Connection | None:
        """Return a connection that is still open, or None."""
        connections = self._by_key.get(key)
        while connections:
            connection = connections.pop()
            del self._in_order[connection]
            if not connections:
                del self._by_key[key]
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    def put(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Keep the connection, or close it when its host has enough."""
        connections = self._by_key.setdefault(connection.key, [])
        if len(connections) >= self._max_idle_per_host:
            connection.close()
            return
        connection.idle_since = loop.time()
        connections.append(connection)
        self._in_order[connection] = None
        if len(self._in_order) > MAX_IDLE_CONNECTIONS:
            self._drop(next(iter(self._in_order)))
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._idle_seconds, self._sweep, loop)

    def close(self) -> None:
        """Close every idle connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in self._in_order:
            connection.close()
        self._in_order.clear()
        self._by_key.clear()

    def _drop(self, connection: Connection) -> None:
        del self._in_order[connection]
        connections = self._by_key[connection.key]
        connections.remove(connection)
        if not connections:
            del self._by_key[connection.key]
        connection.close()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Drop connections that are too old or that receivers closed; arm the next sweep."""
        self._sweeper = None
        limit = loop.time() - self._idle_seconds
        for connection in list(self._in_order):
            if connection.idle_since <= limit or not connection.usable:
                self._drop(connection)
        if self._in_order:
            oldest = next(iter(self._in_order)).idle_since
            next_at = max(oldest + self._idle_seconds, loop.time() + _SWEEP_PAUSE)
            self._sweeper = loop.call_at(next_at, self._sweep, loop)
