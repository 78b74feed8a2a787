from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.conf import conf
from tests.support.entries import entry_of
from tests.support.raw_receiver import Conversation, raw_receiver
from worker.webhooks import webhook_delivery


async def _answer(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.send(b"HTTP/1.1 204 No Content\r\n\r\n")


async def test_it_reaches_what_the_deployment_allows(settings):
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    client, deliverer = webhook_delivery()
    try:
        async with raw_receiver(_answer) as receiver:
            entry = entry_of(
                "webhook",
                url=f"http://127.0.0.1:{receiver.port}/",
                sealed={"headers": {}},
            )
            batch: Any = {"offset": 0.0, "secrets": {entry["tenant"]: []}}
            outcome = await deliverer.deliver(entry, batch, entry["scheduled_for"])
    finally:
        await client.close()

    assert (outcome["verb"], outcome["status"]) == ("succeeded", 204)
