from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from scheduler_site import receiver_records
from scheduler_site.receiver_answers import OK, Request
from scheduler_site.receiver_records import Ledger, RecentRequests, SignatureCheck, ledger_line

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signed(body: bytes, *, at: int | None = None) -> Request:
    from datetime import UTC, datetime

    seconds = int(time.time()) if at is None else at
    signature = Webhook(SECRET).sign("msg_1", datetime.fromtimestamp(seconds, UTC), body.decode())
    headers = (
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", str(seconds)),
        ("webhook-signature", "v1,bm9wZQ== " + signature),
    )
    return Request("POST", "/ok", headers, body, wall_ns=time.time_ns())


def refuse(error: OSError) -> None:
    raise AssertionError(error)


def test_signatures_of_the_standards_own_library_are_accepted():
    assert SignatureCheck(SECRET).accepts(signed(b'{"a": 1}'))


def test_another_body_secret_or_time_is_not_accepted():
    request = signed(b"{}")
    changed = Request("POST", "/ok", request.headers, b"[]", wall_ns=request.wall_ns)

    assert not SignatureCheck(SECRET).accepts(changed)
    assert not SignatureCheck("whsec_" + "A" * 32).accepts(request)
    assert not SignatureCheck(SECRET).accepts(signed(b"{}", at=int(time.time()) - 400))
    assert not SignatureCheck(SECRET).accepts(Request("POST", "/ok"))


def test_a_secret_that_is_not_base64_is_refused():
    with pytest.raises(ValueError, match="whsec_"):
        SignatureCheck("whsec_?")


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

    monkeypatch.setattr(receiver_records, "MAX_BYTES", 200_000)
    recent.add(Request("POST", "/ok", (), b"x" * 1_000_000), OK)
    newest = recent.listing({"limit": "1"})["requests"][0]

    assert recent.listing({})["kept"] < 1000
    assert len(newest["body"]) == receiver_records.MAX_KEPT_BODY
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
