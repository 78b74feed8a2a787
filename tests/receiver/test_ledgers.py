from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from receiver.ledgers import file_of
from tests.receiver.calls import OTHER, OWN, ask, running


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_request_is_answered_as_its_path_says_and_written_to_its_tenants_ledger(
    tmp_path: Path,
):
    for segment in (OWN, OTHER):
        file_of(tmp_path, segment).touch()

    async with running(ledgers=tmp_path) as receiver:
        status, _ = await ask(receiver, f"/{OWN}/status/418?x=1", "POST")
        await ask(receiver, "/ok", "POST")

    assert status == 418
    assert [line["path"] for line in lines(file_of(tmp_path, OWN))] == ["/status/418?x=1"]
    assert lines(file_of(tmp_path, OTHER)) == []


@pytest.mark.parametrize(
    "target", ["/ledger/x/ok", "/ledger/../x/ok", f"/{'a' * 32}/ok", f"/{OTHER}/../x/ok", "/x/ok"]
)
async def test_no_request_makes_or_finds_a_ledger_by_a_name(tmp_path: Path, target: str):
    (tmp_path / "x.jsonl").touch()
    file_of(tmp_path, "a" * 32).touch()

    async with running(ledgers=tmp_path) as receiver:
        assert (await ask(receiver, target, "POST"))[0] == 404

    assert {name: (tmp_path / name).stat().st_size for name in os.listdir(tmp_path)} == {
        "x.jsonl": 0,
        f"{'a' * 32}.jsonl": 0,
    }


async def test_without_a_directory_or_a_file_a_request_is_only_answered(tmp_path: Path):
    for directory in (None, tmp_path):
        async with running(ledgers=directory) as receiver:
            assert (await ask(receiver, f"/{OWN}/ok", "POST"))[0] == 200

    assert os.listdir(tmp_path) == []


async def test_a_ledger_that_was_removed_is_closed_when_another_is_opened(tmp_path: Path):
    first, second = file_of(tmp_path, OWN), file_of(tmp_path, OTHER)
    first.touch()
    second.touch()

    async with running(ledgers=tmp_path) as receiver:
        await ask(receiver, f"/{OWN}/ok")
        first.unlink()
        await ask(receiver, f"/{OTHER}/ok")
        assert list(receiver._ledgers._open) == [OTHER]

    assert len(lines(second)) == 1
    assert not first.exists()
