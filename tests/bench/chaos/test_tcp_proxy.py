from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from bench.chaos.tcp_proxy import FAIR, Link, Weather, lag_of

HERE = "127.0.0.1"
_SOON = 0.3
#: Loses up to three segments on end at a share of 0.3; five would end the connection.
_NEVER_GIVEN_UP = 5


@asynccontextmanager
async def _through_a_link(weather=FAIR):
    echoes: set[asyncio.Task[Any]] = set()

    async def echo(reader, writer):
        task = asyncio.current_task()
        assert task is not None
        echoes.add(task)
        with suppress(ConnectionError):
            while data := await reader.read(1000):
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, HERE, 0)
    target = (HERE, server.sockets[0].getsockname()[1])
    chance = random.Random(_NEVER_GIVEN_UP)
    link = Link(target, HERE, weathers={HERE: weather}, chance=chance)
    await link.open()
    reader, writer = await asyncio.open_connection(HERE, link.port)
    try:
        yield link, reader, writer
    finally:
        writer.transport.abort()
        await link.close()
        server.close()
        await asyncio.gather(*echoes, return_exceptions=True)


async def test_fair_weather_carries_both_ways_and_the_end():
    async with _through_a_link() as (_, reader, writer):
        writer.write(b"hello")
        writer.write_eof()

        assert await reader.read() == b"hello"


@pytest.mark.parametrize("weather", [Weather(up=False), Weather(down=False)])
async def test_what_a_closed_way_holds_arrives_when_it_opens(weather):
    async with _through_a_link(weather) as (link, reader, writer):
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(5), _SOON)
        link.weathers[HERE] = FAIR

        assert await reader.readexactly(5) == b"hello"


async def test_a_reset_breaks_the_connection():
    async with _through_a_link() as (link, reader, writer):
        writer.write(b"hello")
        await reader.readexactly(5)
        link.reset(HERE)

        with pytest.raises(ConnectionError):
            await reader.readexactly(1)


async def test_delayed_bytes_arrive_in_the_order_of_their_sending():
    async with _through_a_link(Weather(delay=0.02, loss=0.3)) as (_, reader, writer):
        sent = b"".join(bytes([n]) for n in range(20))
        for n in sent:
            writer.write(bytes([n]))
            await writer.drain()

        assert await reader.readexactly(20) == sent


def test_without_loss_the_delay_is_all():
    assert lag_of(Weather(delay=0.3), random.Random(1)) == 0.3


def test_what_is_lost_again_and_again_is_given_up():
    assert lag_of(Weather(loss=1.0), random.Random(1)) is None


def test_lost_bytes_come_after_a_retransmission():
    lags = [lag_of(Weather(loss=0.5), random.Random(seed)) for seed in range(50)]

    assert {round(lag, 3) for lag in lags if lag is not None} >= {0.0, 0.2, 0.6}
