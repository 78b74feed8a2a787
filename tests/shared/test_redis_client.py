from __future__ import annotations

import pytest
import redis
from django.test import override_settings
from kombu.connection import Connection
from redis._parsers.base import BaseParser
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff

from shared import redis_client
from shared.redis_client import ConnectionFailed, async_client, blocking_client, client, lua


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_the_client_of_a_process_is_shared():
    assert client() is client()
    assert client().ping()


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_a_blocking_client_waits_as_long_as_it_is_told():
    one = blocking_client(0.05)

    assert one is not client()
    assert one.xread({"nothing": "$"}, block=50) in ({}, [], None)
    one.close()


@pytest.mark.usefixtures("django_db_modify_db_settings")
async def test_an_asyncio_client_is_one_of_its_own():
    one = async_client()

    assert await one.ping()
    await one.aclose()


def test_a_server_that_is_away_is_a_failed_connection():
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        away = blocking_client(0.1)

    with pytest.raises(ConnectionFailed):
        away.ping()


def test_a_refused_command_is_not_a_failed_connection():
    assert not issubclass(redis.ResponseError, ConnectionFailed)


def test_a_script_has_its_parts_in_the_place_where_it_names_them():
    script = lua("start")

    assert "-- include" not in script
    assert script.index("local function refused(") < script.index("local function judge(")


def test_scripts_are_read_by_name():
    assert "ARGV" in lua("void")
    with pytest.raises(FileNotFoundError):
        redis_client.lua("nothing")


@pytest.mark.parametrize("refusal", ["OOM maxmemory", "MISCONF no space left", "READONLY replica"])
def test_a_server_that_refuses_to_write_is_a_failed_connection(refusal):
    told = BaseParser.parse_error(refusal)

    assert isinstance(told, ConnectionFailed)
    # What Celery's workers take for a reason to connect anew, not to end.
    assert isinstance(told, Connection("redis://").connection_errors)


@pytest.mark.usefixtures("django_db_modify_db_settings")
async def test_a_write_to_a_closed_transport_is_a_failed_connection(monkeypatch):
    one = async_client(retry=AsyncRetry(NoBackoff(), 0))
    connection = await one.connection_pool.get_connection()
    # As uvloop does it, where the kernel has given the connection up.
    monkeypatch.setattr(connection._writer, "writelines", _handler_is_closed)

    with pytest.raises(ConnectionFailed):
        await connection.send_command("PING")
    await one.aclose()


def _handler_is_closed(*_: object) -> None:
    raise RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed")
