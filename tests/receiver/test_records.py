from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from receiver import records
from receiver.answers import OK
from receiver.messages import Request
from receiver.records import Ledger, RecentRequests, ledger_line


def refuse(error: OSError) -> None:
    raise AssertionError(error)


def test_requests_are_listed_newest_first_and_filtered():
    recent = RecentRequests()
    for number, path in enumerate(("/ok", "/slow?ms=1", "/ok")):
        headers = (("webhook-id", f"id-{number}"),)
        recent.add(Request("POST", path, headers, b"{}", wall_ns=1_700_000_000_123_999_999), OK)

    everything = recent.listing({})["requests"]
    ok = recent.listing({"path": "/ok"})["requests"]
    one = recent.listing({"webhook_id": "id-1"})["requests"]

    assert [found["headers"]["webhook-id"] for found in everything] == ["id-2", "id-1", "id-0"]
    assert len(ok) == 2
    assert one[0]["query"] == {"ms": "1"}
    assert one[0]["received_at"] == "2023-11-14T22:13:20.123Z"
    assert len(recent.listing({"limit": "1"})["requests"]) == 1


@pytest.mark.parametrize("limit", ["0", "1001", "x"])
def test_limits_out_of_range_are_refused(limit: str):
    with pytest.raises(ValueError, match="limit"):
        RecentRequests().listing({"limit": limit})


def test_bodies_that_are_no_text_are_listed_as_base64():
    recent = RecentRequests()
    recent.add(Request("POST", "/ok", (), b"\xff"), OK)

    found = recent.listing({})["requests"][0]

    assert (found["body"], found["body_encoding"]) == ("/w==", "base64")


def test_memory_is_bounded_by_count_and_bytes(monkeypatch: pytest.MonkeyPatch):
    recent = RecentRequests()
    for _ in range(1100):
        recent.add(Request("POST", "/ok"), OK)
    assert recent.listing({})["kept"] == 1000
    assert recent.total == 1100

    monkeypatch.setattr(records, "MAX_BYTES", 200_000)
    recent.add(Request("POST", "/ok", (), b"x" * 1_000_000), OK)
    newest = recent.listing({"limit": "1"})["requests"][0]

    assert recent.listing({})["kept"] < 1000
    assert len(newest["body"]) == records.MAX_KEPT_BODY
    assert newest["headers"]["x-receiver-body-bytes"] == "1000000"


def test_cleared_requests_are_forgotten():
    recent = RecentRequests()
    recent.add(Request("POST", "/ok"), OK)

    recent.clear()

    assert recent.listing({})["requests"] == []


def test_a_ledger_line_holds_what_the_judge_needs():
    headers = (
        ("webhook-id", "e1"),
        ("x-scheduler-task-id", "t1"),
        ("x-scheduler-scheduled-for", "2026-11-20T00:00:00.000Z"),
        ("x-scheduler-attempt", "2"),
        ("x-scheduler-fencing-token", "77"),
    )

    entry = json.loads(ledger_line(Request("POST", "/ok?x=1", headers, b"{}", 5, 6), OK, None))

    assert entry == {
        "wall_ns": 5,
        "monotonic_ns": 6,
        "webhook_id": "e1",
        "task_id": "t1",
        "scheduled_for": "2026-11-20T00:00:00.000Z",
        "attempt": "2",
        "fencing_token": "77",
        "method": "POST",
        "path": "/ok?x=1",
        "body_sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "signature_ok": None,
        "status": 200,
        "delay_ms": 0,
    }


def test_signing_secrets_are_neither_listed_nor_in_the_ledger():
    recent, request = RecentRequests(), Request("POST", "/verify?a=1&secret=whsec_abc&b=2")
    recent.add(request, OK)

    assert recent.listing({})["requests"][0]["query"] == {"a": "1", "secret": "hidden", "b": "2"}
    assert b"/verify?a=1&secret=hidden&b=2" in ledger_line(request, OK, None)


def test_values_of_secret_names_in_a_query_are_neither_listed_nor_in_the_ledger():
    recent, request = RecentRequests(), Request("POST", "/ok?api_key=v3ry&a=1&Access_Token=v3ry")
    recent.add(request, OK)

    assert recent.listing({})["requests"][0]["query"] == {
        "api_key": "hidden",
        "a": "1",
        "Access_Token": "hidden",
    }
    assert b"/ok?api_key=hidden&a=1&Access_Token=hidden" in ledger_line(request, OK, None)


def test_a_request_with_too_many_fields_does_not_spoil_the_listing():
    recent = RecentRequests()
    recent.add(Request("POST", "/ok?" + "&".join(["a=1"] * 30)), OK)

    assert recent.listing({})["requests"][0]["query"] == {}


async def test_a_line_is_on_disk_before_its_caller_is_told(tmp_path: Path):
    path = tmp_path / "ledger"
    ledger = Ledger(path, refuse)
    seen: list[str] = []
    told = asyncio.Event()

    for number in range(3):
        ledger.append(f"{number}\n".encode(), lambda: seen.append(path.read_text()))
    ledger.append(b"last\n", told.set)
    await told.wait()
    await ledger.close()

    assert seen == ["0\n1\n2\nlast\n"] * 3


async def test_closing_writes_what_still_waits(tmp_path: Path):
    path = tmp_path / "ledger"
    path.write_text("before\n")
    ledger = Ledger(path, refuse)

    ledger.append(b"after\n", lambda: None)
    await ledger.close()

    assert path.read_text() == "before\nafter\n"


async def test_nobody_is_told_when_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failed = asyncio.Event()
    ledger = Ledger(tmp_path / "ledger", lambda _: failed.set())
    told: list[int] = []

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fdatasync", full)
    ledger.append(b"x\n", lambda: told.append(1))
    await failed.wait()
    await ledger.close()

    assert told == []
