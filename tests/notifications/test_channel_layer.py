from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from notifications import channel_layer
from notifications.channel_layer import LOST, LiveChannelLayer
from shared import redis_client
from shared.redis_client import ConnectionFailed, client
from tests.support.killable_valkey import KillableValkey

pytestmark = pytest.mark.django_db

GROUP = "tenant.1"
TOPICS = {"type": "live.topics", "topics": ["tasks"], "version": 1}


@pytest.fixture
def layer() -> LiveChannelLayer:
    return LiveChannelLayer()


@pytest.fixture
def valkey(tmp_path: Path, settings: Any) -> Iterator[KillableValkey]:
    server = KillableValkey(tmp_path)
    settings.REDIS_URL = server.url
    redis_client.client.cache_clear()
    yield server
    redis_client.client().close()
    redis_client.client.cache_clear()
    server.remove()


async def receive(layer: LiveChannelLayer, channel: str) -> Any:
    return await asyncio.wait_for(layer.receive(channel), 60)


async def be_silent_sooner(
    layer: LiveChannelLayer, channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a member's connection count as silent soon, from its next message on."""
    monkeypatch.setattr(channel_layer, "_SILENCE_SECONDS", 0.05)
    await layer.group_send(GROUP, TOPICS)
    assert await receive(layer, channel) == TOPICS


async def leave(layer: LiveChannelLayer, *channels: str, group: str = GROUP) -> None:
    for channel in channels:
        await layer.group_discard(group, channel)


def subscribers() -> int:
    return int(client().pubsub_numsub(f"punctual:live:{GROUP}")[0][1])


async def test_every_channel_of_a_group_gets_its_messages(layer: LiveChannelLayer):
    first, second, other = [await layer.new_channel() for _ in range(3)]
    await layer.group_add(GROUP, first)
    await layer.group_add(GROUP, second)
    await layer.group_add("tenant.2", other)

    await layer.group_send(GROUP, TOPICS)
    await layer.group_send("tenant.2", {"type": "live.alert"})

    assert await receive(layer, first) == TOPICS
    assert await receive(layer, second) == TOPICS
    assert await receive(layer, other) == {"type": "live.alert"}
    await leave(layer, first, second)
    await leave(layer, other, group="tenant.2")


async def test_one_process_subscribes_to_a_group_once(layer: LiveChannelLayer):
    channels = [await layer.new_channel() for _ in range(3)]
    for channel in channels:
        await layer.group_add(GROUP, channel)

    assert await asyncio.to_thread(subscribers) == 1
    await leave(layer, *channels)


async def test_a_channel_that_left_gets_nothing_more(layer: LiveChannelLayer):
    stays, leaves = [await layer.new_channel() for _ in range(2)]
    await layer.group_add(GROUP, stays)
    await layer.group_add(GROUP, leaves)
    await leave(layer, leaves)

    await layer.group_send(GROUP, TOPICS)
    await receive(layer, stays)
    await layer.send(leaves, {"type": "mark"})

    assert await receive(layer, leaves) == {"type": "mark"}
    await leave(layer, stays)


async def test_a_group_can_be_left_and_joined_again(layer: LiveChannelLayer):
    channel, keeper = [await layer.new_channel() for _ in range(2)]
    await layer.group_add("keeper", keeper)
    for number in range(3):
        await layer.group_add(GROUP, channel)
        await layer.group_send(GROUP, {"type": "x", "number": number})
        assert (await receive(layer, channel))["number"] == number
        await leave(layer, channel)
    await leave(layer, keeper, group="keeper")


async def test_a_cancelled_channel_leaves_its_groups(layer: LiveChannelLayer):
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    waiting = asyncio.create_task(layer.receive(channel))
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    # The connection went with the last group: no subscription, no task.
    assert layer._hub._pubsub is None
    assert layer._hub._reader is None


async def test_a_channel_that_does_not_keep_up_is_told_so(layer: LiveChannelLayer):
    channel = await layer.new_channel()

    for _ in range(101):
        await layer.send(channel, TOPICS)

    assert await receive(layer, channel) == LOST
    assert layer._hub.queue(channel).empty()


async def test_messages_for_unknown_channels_go_nowhere(layer: LiveChannelLayer):
    await layer.send("nobody", TOPICS)
    await layer.group_discard(GROUP, "nobody")


@pytest.mark.logs("live_connection.lost")
async def test_every_channel_hears_that_the_connection_was_lost(
    layer: LiveChannelLayer, valkey: KillableValkey
):
    first, second = [await layer.new_channel() for _ in range(2)]
    await layer.group_add(GROUP, first)
    await layer.group_add(GROUP, second)
    await layer.group_add("everyone", first)

    await asyncio.to_thread(valkey.kill)

    assert await receive(layer, first) == LOST
    assert await receive(layer, second) == LOST
    with pytest.raises(ConnectionFailed):
        await layer.group_add(GROUP, first)

    await asyncio.to_thread(valkey.start)
    await layer.group_add(GROUP, first)
    await layer.group_send(GROUP, TOPICS)
    assert await receive(layer, first) == TOPICS
    await leave(layer, first)


async def test_a_connection_that_is_cut_alone_is_noticed_too(layer: LiveChannelLayer):
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)

    await asyncio.to_thread(lambda: client().client_kill_filter(_type="pubsub"))

    assert await receive(layer, channel) == LOST


async def test_a_server_that_does_not_answer_is_a_lost_connection(
    layer: LiveChannelLayer, monkeypatch: pytest.MonkeyPatch
):
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    pubsub = layer._hub._pubsub
    assert pubsub is not None

    async def unheard(*_: Any) -> None:
        return None

    monkeypatch.setattr(pubsub, "ping", unheard)
    await be_silent_sooner(layer, channel, monkeypatch)

    assert await receive(layer, channel) == LOST


async def test_a_quiet_connection_that_answers_stays(
    layer: LiveChannelLayer, monkeypatch: pytest.MonkeyPatch
):
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    pubsub = layer._hub._pubsub
    assert pubsub is not None
    pings, third = [0], asyncio.Event()
    ping, get_message = pubsub.ping, pubsub.get_message
    asked = False

    async def counted(*_: Any) -> None:
        nonlocal asked
        asked = True
        pings[0] += 1
        if pings[0] == 3:
            third.set()
        await ping()

    async def patient(timeout: float) -> Any:
        """Wait shortly for silence, but long for an answer: the machine may be slow."""
        nonlocal asked
        found = await get_message(timeout=60 if asked else timeout)
        asked = False
        return found

    monkeypatch.setattr(pubsub, "ping", counted)
    monkeypatch.setattr(pubsub, "get_message", patient)
    await be_silent_sooner(layer, channel, monkeypatch)
    await asyncio.wait_for(third.wait(), 60)
    await layer.group_send(GROUP, TOPICS)

    assert await receive(layer, channel) == TOPICS
    await leave(layer, channel)


@pytest.mark.logs("live_message.not_understood")
async def test_text_that_is_no_message_ends_nothing(layer: LiveChannelLayer):
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)

    await asyncio.to_thread(client().publish, f"punctual:live:{GROUP}", b"{")
    await layer.group_send(GROUP, TOPICS)

    assert await receive(layer, channel) == TOPICS
    await leave(layer, channel)


def test_a_message_cannot_be_sent_without_redis(settings: Any):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    redis_client.client.cache_clear()
    try:
        with pytest.raises(redis.ConnectionError):
            channel_layer.publish(GROUP, TOPICS)
    finally:
        redis_client.client.cache_clear()


@pytest.mark.logs("live_unsubscribe.failed")
async def test_a_group_is_left_where_redis_is_away():
    class Away:
        async def unsubscribe(self, group: str) -> None:
            raise redis.ConnectionError

    pubsub: Any = Away()

    await channel_layer._quietly_unsubscribe(pubsub, "one")
