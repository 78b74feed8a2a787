"""A webhook in a process of its own: real children, good and bad."""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from shared.encryption import seal_json
from tests.support.entries import capture_of, entry_of
from tests.support.liveness import lives
from tests.support.raw_receiver import Conversation, raw_receiver
from tests.support.waiting import until
from worker.endings import Ending, Kind
from worker.isolated_run import deliver_alone

BATCH: Any = {"offset": 0.0, "secrets": {}}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def webhook(port: int = 9, **target: Any) -> Any:
    entry = entry_of("webhook", url=f"http://127.0.0.1:{port}/", **target)
    secret = seal_json({"headers": {}, "payload": {"n": 1}}, _context(entry))
    return entry | {"sealed": base64.b64encode(secret).decode()}


def _context(entry: Any) -> bytes:
    return f"revision:{entry['task']}:1".encode()


async def _answer(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.send(ANSWER)


async def test_it_is_sent_and_its_answer_comes_back(monkeypatch):
    monkeypatch.setenv("WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8")
    async with raw_receiver(_answer) as receiver:
        entry = webhook(receiver.port)
        outcome = await deliver_alone(entry, BATCH, entry["scheduled_for"])

    assert isinstance(outcome, dict)
    assert (outcome["verb"], outcome["status"]) == ("succeeded", 200)
    assert base64.b64decode(capture_of(entry, outcome)["body"]) == b"hi"


@pytest.mark.parametrize(
    "code", ["import os; os.abort()", "import sys; sys.exit(1)", "import os; os._exit(70)"]
)
async def test_a_process_that_dies_is_a_lost_worker(code):
    entry = webhook()

    ending = await deliver_alone(entry, BATCH, 0.0, [sys.executable, "-c", code])

    assert isinstance(ending, Ending)
    assert (ending.kind, ending.error_code) == (Kind.LOST, "worker_lost")


def endless(pids: Path) -> list[str]:
    """Return a program that never ends, and has started another one that does not either."""
    return ["/bin/sh", "-c", f"sleep 600 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"]


def ended(pids: Path) -> bool:
    return not any(lives(int(pid)) for pid in pids.read_text().split())


async def test_a_process_that_does_not_end_is_killed_with_what_it_has_started(
    monkeypatch, tmp_path
):
    pids = tmp_path / "pids"
    ending: list[asyncio.Future[None]] = []

    def timeout_once_it_has_begun(seconds: float) -> asyncio.Timeout:
        timeout = asyncio.Timeout(None)

        async def end() -> None:
            await asyncio.to_thread(until, pids.exists)
            timeout.reschedule(asyncio.get_running_loop().time())

        ending.append(asyncio.ensure_future(end()))
        return timeout

    monkeypatch.setattr("worker.isolated_run.asyncio.timeout", timeout_once_it_has_begun)
    entry = webhook(timeout_seconds=60)

    found = await deliver_alone(entry, BATCH, 0.0, endless(pids))

    assert isinstance(found, Ending)
    assert found.kind is Kind.LOST
    assert ending[0].done()
    await asyncio.to_thread(until, lambda: ended(pids))


async def test_a_cancel_ends_the_process_with_what_it_has_started(tmp_path):
    pids = tmp_path / "pids"
    entry = webhook(timeout_seconds=60)
    running = asyncio.ensure_future(deliver_alone(entry, BATCH, 0.0, endless(pids)))
    await asyncio.to_thread(until, pids.exists)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.to_thread(until, lambda: ended(pids))


async def test_a_cancel_before_the_process_is_there_leaves_none(tmp_path):
    running = asyncio.ensure_future(
        deliver_alone(webhook(), BATCH, 0.0, endless(tmp_path / "pids"))
    )
    await asyncio.sleep(0)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
