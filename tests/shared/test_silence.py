from __future__ import annotations

import socket
from runpy import run_path
from unittest.mock import patch

import pytest
from django.db import connection
from django.test import override_settings

from scheduler_site import settings as site_settings
from scheduler_site.celery import app
from shared import redis_client
from shared.redis_client import async_client, blocking_client
from shared.silence import DATABASE_CLIENT, DATABASE_SESSION, redis_options

TCP, UNIX = "redis://10.0.0.1:6379/0", "unix:///tmp/valkey.sock?db=0"
#: Within this long a silent connection is given up.
NOTICED_SECONDS = 30


def test_connections_over_tcp_are_asked_whether_they_live():
    options = redis_options(TCP)["socket_keepalive_options"]

    silent = options[socket.TCP_KEEPIDLE]
    silent += options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT]
    assert silent < NOTICED_SECONDS
    assert options[socket.TCP_USER_TIMEOUT] < NOTICED_SECONDS * 1000


def test_a_system_that_knows_less_is_told_less(monkeypatch):
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT")

    assert len(redis_options(TCP)["socket_keepalive_options"]) == 3


def test_unix_sockets_are_not_given_what_they_refuse():
    assert redis_options(UNIX) == redis_options("redis+socket:///tmp/valkey.sock") == {}


@pytest.mark.parametrize("make", [lambda: blocking_client(1.0), async_client])
@pytest.mark.parametrize(("url", "kept_alive"), [(TCP, True), (UNIX, None)])
def test_clients_follow_the_address(make, url, kept_alive):
    # As it is delivered: tests wait longer.
    seconds = run_path("shared/redis_client.py")["ANSWER_SECONDS"]
    with override_settings(REDIS_URL=url), patch.object(redis_client, "ANSWER_SECONDS", seconds):
        known = make().connection_pool.connection_kwargs

    assert known.get("socket_keepalive") is kept_alive
    assert known["socket_timeout"] <= NOTICED_SECONDS


def test_the_shared_client_follows_the_address():
    with override_settings(REDIS_URL=TCP):
        known = redis_client.client.__wrapped__().connection_pool.connection_kwargs

    assert known["socket_keepalive"] is True


def test_the_broker_s_connections_do_not_wait_for_good():
    options = app.conf.broker_transport_options

    # kombu looks after a popping connection once in so many seconds, and it blocks for one.
    assert 2 * options["health_check_interval"] + 1 < NOTICED_SECONDS
    assert options["socket_timeout"] + options["socket_connect_timeout"] < NOTICED_SECONDS


@pytest.mark.django_db
def test_database_sessions_of_vanished_clients_end():
    with connection.cursor() as cursor:
        # On a unix socket the server shows them as 0; that it took them is all there is to see.
        cursor.execute("SELECT name FROM pg_settings WHERE source = 'client' AND name LIKE 'tcp%'")
        taken = {row[0] for row in cursor.fetchall()}

    assert taken == set(DATABASE_SESSION)


def test_database_connections_notice_silence_unless_the_address_says_otherwise():
    usual = site_settings._database("postgresql://u@10.0.0.1/punctual")["OPTIONS"]
    own = site_settings._database("postgresql://u@10.0.0.1/p?tcp_user_timeout=500")["OPTIONS"]

    assert {name: usual[name] for name in DATABASE_CLIENT} == DATABASE_CLIENT
    assert own["tcp_user_timeout"] == "500"
    assert DATABASE_CLIENT["tcp_user_timeout"] < NOTICED_SECONDS * 1000
