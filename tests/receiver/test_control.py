from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from tests.receiver.calls import OTHER, OWN, arrived, ask, running, tell


async def test_requests_are_looked_up_and_forgotten():
    async with running() as receiver:
        await ask(receiver, f"/{OWN}/flaky?fail=1", "POST", webhook_id="a")
        await ask(receiver, f"/{OWN}/ok", "POST", webhook_id="b")
        await ask(receiver, f"/{OTHER}/ok", "POST")

        found = await arrived(receiver, OWN, "?path=/flaky&webhook_id=a")
        cleared = await tell(receiver, f"/requests/{OWN}", "DELETE")

        assert [one["status"] for one in found] == [500]
        assert cleared == (204, None)
        assert await arrived(receiver) == []
        assert len(await arrived(receiver, OTHER)) == 1


async def test_connections_that_callers_keep_open_are_counted_and_closed():
    async with running() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(b"GET /ok HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"}")

        assert await tell(receiver, "/connections") == (200, {"open": 1})
        assert await tell(receiver, "/connections", "DELETE") == (200, {"closed": 1})
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    ("target", "method", "status"),
    [
        (f"/requests/{OWN}?limit=0", "GET", 400),
        (f"/requests/{OWN}", "PUT", 405),
        ("/requests/guessed", "GET", 404),
        ("/requests/guessed", "DELETE", 404),
        ("/requests", "GET", 404),
        ("/connections", "PUT", 405),
        ("/ok", "GET", 404),
    ],
)
async def test_other_questions_are_refused(target: str, method: str, status: int):
    async with running() as receiver:
        assert (await tell(receiver, target, method))[0] == status


async def test_only_the_owner_of_the_file_may_ask_and_it_goes_with_the_receiver():
    async with running() as receiver:
        path = receiver._options.control or Path()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        directory = path.parent
        kept = asyncio.create_task(tell(receiver, "/connections"))
        await kept
        await receiver.stop()
        assert list(directory.iterdir()) == []


async def test_a_file_of_a_receiver_that_was_killed_is_replaced():
    async with running() as first:
        path = first._options.control or Path()
        path.unlink()
        path.touch()
        async with running() as second:
            assert (await tell(second, "/connections"))[0] == 200
