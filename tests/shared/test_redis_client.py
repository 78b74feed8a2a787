from __future__ import annotations

import pytest
import redis
from django.test import override_settings

from shared import redis_client
from shared.redis_client import ConnectionFailed, async_client, blocking_client, client, lua


@pytest.mark.usefixtures("django_db_setup")
def test_the_client_of_a_process_is_shared():
    assert client() is client()
    assert client().ping()


@pytest.mark.usefixtures("django_db_setup")
def test_a_blocking_client_waits_as_long_as_it_is_told():
    one = blocking_client(0.05)

    assert one is not client()
    assert one.xread({"nothing": "$"}, block=50) in ({}, [], None)
    one.close()


@pytest.mark.usefixtures("django_db_setup")
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


def test_scripts_are_read_by_name():
    assert "ARGV" in lua("void")
    with pytest.raises(FileNotFoundError):
        redis_client.lua("nothing")
