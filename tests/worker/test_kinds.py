"""One door for all kinds; handlers and commands are tested through it in their own files."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.entries import entry_of
from worker import kinds as module
from worker.endings import Ending, Kind
from worker.kinds import Kinds

BATCH: Any = {"offset": 0.0, "secrets": {}}


@pytest.fixture
async def kinds():
    made = Kinds(lambda said: None, time.time)
    yield made
    await made.close()


def webhook(**parts: Any) -> Any:
    return entry_of("webhook", url="http://127.0.0.1:9/", parts=parts)


async def deliver(kinds: Kinds, entry: Any) -> Any:
    return await kinds.deliver(entry, BATCH, entry["scheduled_for"])


async def test_a_webhook_goes_out_through_the_http_client(kinds):
    outcome = await deliver(kinds, webhook())

    # The address guard of a deployment that allows nothing private.
    assert outcome["error_code"] == "address_forbidden"


async def test_a_target_without_a_kind_is_a_webhook(kinds):
    entry = webhook()
    del entry["target"]["kind"]

    assert (await deliver(kinds, entry))["error_code"] == "address_forbidden"


async def test_a_kind_of_a_later_version_is_an_internal_failure(kinds):
    entry = webhook()
    entry["target"]["kind"] = "carrier_pigeon"

    outcome = await deliver(kinds, entry)

    assert (outcome["verb"], outcome["error_code"]) == ("retrying", "internal")


async def test_a_webhook_that_lost_two_workers_runs_in_a_process_of_its_own(kinds, monkeypatch):
    alone: list[str] = []

    async def deliver_alone(entry, batch, started):
        alone.append(entry["id"])
        return Ending(Kind.LOST, "worker_lost", "died")

    monkeypatch.setattr(module, "deliver_alone", deliver_alone)

    await deliver(kinds, webhook(lost=1))
    entry = webhook(lost=2)
    outcome = await deliver(kinds, entry)

    assert alone == [entry["id"]]
    assert (outcome["verb"], outcome["reason"], outcome["lost"]) == ("failed", "poisoned", 1)


async def test_what_has_ended_is_counted(kinds):
    for _ in range(3):
        await deliver(kinds, webhook())

    assert kinds.ended.total == sum(kinds.ended.by_minute().values()) == 3
    assert not kinds.interruptible
