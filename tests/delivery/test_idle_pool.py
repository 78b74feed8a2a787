from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import pytest

from delivery import idle_pool
from delivery.http_connection import Connection
from delivery.idle_pool import IdlePool

KEY = ("http", "name.test", 80, "")
OTHER = ("http", "other.test", 80, "")


class Transport(asyncio.Transport):
    """Enough of a transport to be open or closed, over a real pair of sockets."""

    def __init__(self):
        super().__init__()
        self.closed = False
        self.near, self.far = socket.socketpair()

    def get_extra_info(self, name, default=None):
        assert name == "socket"
        return self.near

    def is_closing(self):
        return self.closed

    def abort(self):
        self.closed = True


class Clock:
    """The part of a loop that the pool uses; time moves when the test says."""

    def __init__(self):
        self.now = 100.0
        self.timers = []

    def time(self):
        return self.now

    def call_later(self, delay, callback, *args):
        return self.call_at(self.now + delay, callback, *args)

    def call_at(self, when, callback, *args):
        handle = asyncio.TimerHandle(when, callback, args, cast(Any, self))
        self.timers.append(handle)
        return handle

    def get_debug(self):
        return False

    def _timer_handle_cancelled(self, handle):
        self.timers.remove(handle)

    def advance(self, seconds):
        self.now += seconds
        for handle in [timer for timer in self.timers if timer.when() <= self.now]:
            self.timers.remove(handle)
            handle._run()


def _clock() -> Any:
    return Clock()


@pytest.fixture(autouse=True)
def transports():
    """Close the sockets that a test has made."""
    made.clear()
    yield made
    for transport in made:
        transport.near.close()
        transport.far.close()


made: list[Transport] = []


def _connection(clock, key=KEY):
    connection = Connection(clock, key, "192.0.2.1")
    made.append(Transport())
    connection.connection_made(made[-1])
    return connection


def test_freshest_connection_is_taken_first():
    clock, pool = _clock(), IdlePool(30, 64)
    first, second = _connection(clock), _connection(clock)
    pool.put(first, clock)
    pool.put(second, clock)

    assert [pool.take(KEY), pool.take(KEY), pool.take(KEY)] == [second, first, None]


def test_connection_serves_only_its_own_host():
    clock, pool = _clock(), IdlePool(30, 64)
    pool.put(_connection(clock), clock)

    assert pool.take(OTHER) is None


def test_connection_that_has_died_is_never_handed_out():
    clock, pool = _clock(), IdlePool(30, 64)
    alive, dead = _connection(clock), _connection(clock)
    pool.put(alive, clock)
    pool.put(dead, clock)
    dead.connection_lost(None)

    assert pool.take(KEY) is alive
    assert len(pool) == 0


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_connection_with_unread_news_is_never_handed_out(last_words, transports):
    clock, pool = _clock(), IdlePool(30, 64)
    pool.put(_connection(clock), clock)
    transports[0].far.sendall(last_words)
    transports[0].far.close()

    assert pool.take(KEY) is None
    assert transports[0].closed


def test_host_keeps_only_so_many_connections():
    clock, pool = _clock(), IdlePool(30, 2)
    connections = [_connection(clock) for _ in range(3)]
    for connection in connections:
        pool.put(connection, clock)

    assert len(pool) == 2
    assert not connections[2].usable


def test_oldest_of_all_goes_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(idle_pool, "MAX_IDLE_CONNECTIONS", 1)
    clock, pool = _clock(), IdlePool(30, 64)
    old, new = _connection(clock, OTHER), _connection(clock)
    pool.put(old, clock)
    pool.put(new, clock)

    assert not old.usable
    assert pool.take(OTHER) is None
    assert pool.take(KEY) is new


def test_connections_are_closed_when_idle_too_long():
    clock, pool = _clock(), IdlePool(30, 64)
    old, new = _connection(clock), _connection(clock)
    pool.put(old, clock)
    clock.advance(20)
    pool.put(new, clock)

    clock.advance(10)
    assert (old.usable, new.usable) == (False, True)
    clock.advance(20)
    assert not new.usable
    assert (len(pool), clock.timers) == (0, [])


def test_many_connections_of_one_moment_need_few_sweeps():
    clock, pool = _clock(), IdlePool(30, 64)
    connections = [_connection(clock) for _ in range(3)]
    for connection in connections:
        pool.put(connection, clock)
        clock.advance(0.01)

    clock.advance(29.975)
    assert [connection.usable for connection in connections] == [False, True, True]
    clock.advance(0.09)
    assert [connection.usable for connection in connections] == [False, True, True]
    clock.advance(0.02)
    assert len(pool) == 0


@pytest.mark.parametrize(
    ("descriptors", "room"), [(256, 128), (1024, 512), (4096, 2048), (1_048_576, 2048), (-1, 2048)]
)
def test_half_of_the_files_a_process_may_open_are_left_for_work(descriptors, room):
    assert idle_pool.room_for(descriptors) == room


def test_taken_connection_outlives_the_sweep():
    clock, pool = _clock(), IdlePool(30, 64)
    connection = _connection(clock)
    pool.put(connection, clock)
    pool.take(KEY)

    clock.advance(60)

    assert connection.usable


def test_closing_the_pool_closes_its_connections_and_timer():
    clock, pool = _clock(), IdlePool(30, 64)
    connection = _connection(clock)
    pool.put(connection, clock)

    pool.close()

    assert not connection.usable
    assert (len(pool), clock.timers) == (0, [])
