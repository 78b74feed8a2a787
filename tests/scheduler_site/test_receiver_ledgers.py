from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scheduler_site.receiver import Receiver, ReceiverOptions
from scheduler_site.receiver_ledgers import file_of
from tests.scheduler_site.receiver_calls import ask


@asynccontextmanager
async def serving(directory: Path | None) -> AsyncIterator[Receiver]:
    receiver = Receiver(ReceiverOptions(ledgers=directory))
    await receiver.start()
    try:
        yield receiver
    finally:
        await receiver.stop()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_request_is_answered_as_its_path_says_and_written_to_its_own_ledger(tmp_path: Path):
    for name in ("a", "b"):
        file_of(tmp_path, name).touch()

    async with serving(tmp_path) as receiver:
        status, _ = await ask(receiver, "/ledger/a/status/418?x=1", "POST")
        await ask(receiver, "/ok", "POST")

    assert status == 418
    assert [line["path"] for line in lines(file_of(tmp_path, "a"))] == ["/status/418?x=1"]
    assert lines(file_of(tmp_path, "b")) == []


@pytest.mark.parametrize(
    "target", ["/ledger/none/ok", "/ledger/a", "/ledger/../a/ok", "/ledger/A/ok", "/ledger//ok"]
)
async def test_no_request_makes_a_ledger(tmp_path: Path, target: str):
    file_of(tmp_path, "a").touch()

    async with serving(tmp_path) as receiver:
        assert (await ask(receiver, target, "POST"))[0] == 404

    assert os.listdir(tmp_path) == ["a.jsonl"]


async def test_without_a_directory_there_are_no_ledgers():
    async with serving(None) as receiver:
        assert (await ask(receiver, "/ledger/a/ok", "POST"))[0] == 404


async def test_a_ledger_that_was_removed_is_let_go_when_another_is_opened(tmp_path: Path):
    first, second = file_of(tmp_path, "a"), file_of(tmp_path, "b")
    first.touch()
    second.touch()

    async with serving(tmp_path) as receiver:
        await ask(receiver, "/ledger/a/ok")
        first.unlink()
        await ask(receiver, "/ledger/b/ok")
        assert (await ask(receiver, "/ledger/a/ok"))[0] == 404

    assert len(lines(second)) == 1
    assert not first.exists()
