"""Every behaviour of the table, one at a time, on both event loops."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.delivery.hostile.answers import answer
from tests.delivery.hostile.ground import Ground, Worker, make_ground
from tests.delivery.hostile.playing import left_over, open_sockets, play
from tests.delivery.hostile.table import GROUPS, ROWS
from tests.support.behaviour_pages import page
from tests.support.raw_receiver import Conversation, raw_receiver
from tests.support.waiting import until

_REGENERATE = "python -m tests.support.behaviour_pages > docs/reference/receiver-behaviours.md"


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("name", ROWS)
async def test_the_attempt_ends_as_the_table_says_and_leaves_nothing_open(
    name: str, ground: Ground
) -> None:
    before = open_sockets()
    worker = Worker(ground.trust)
    try:
        breaches = await play(ROWS[name], ground, worker)
    finally:
        await worker.close()

    assert not breaches
    assert not await left_over()
    await asyncio.to_thread(until, lambda: open_sockets() <= before)


def test_the_table_has_no_two_rows_of_one_name() -> None:
    assert sum(len(rows) for rows in GROUPS.values()) == len(ROWS) >= 45


def test_the_reference_page_says_what_the_table_says() -> None:
    found = Path("docs/reference/receiver-behaviours.md").read_text(encoding="utf-8")

    assert found == page(), f"write it again: {_REGENERATE}"


def _expected(status: int) -> tuple[str, str]:
    if status < 300:
        return "succeeded", ""
    if status < 400 and status in (300, 301, 302, 303, 305, 306, 307, 308):
        return "failed", "redirect_forbidden"
    if status >= 500 or status in (408, 425, 429):
        return "retrying", "http_status"
    return "failed", "http_status"


async def test_every_status_has_its_class(ground: Ground) -> None:
    asked: list[int] = []

    async def script(conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            await conversation.send(answer(asked[-1]))

    worker, found = Worker(ground.trust), {}
    async with raw_receiver(script) as receiver:
        for status in range(200, 600):
            asked.append(status)
            target = {"url": f"http://127.0.0.1:{receiver.port}/", "timeout_seconds": 20}
            ending = await worker.deliver(target)
            found[ending.status] = (ending.verb, ending.error_code)
        await worker.close()

    assert found == {status: _expected(status) for status in range(200, 600)}
