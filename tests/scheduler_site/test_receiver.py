from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from scheduler_site import receiver as receiver_module
from scheduler_site.receiver import Receiver, ReceiverOptions
from tests.scheduler_site.receiver_calls import ask, request, running, send, until_recorded


async def test_only_this_machine_can_reach_it():
    async with running() as receiver:
        assert receiver._server is not None
        assert receiver._server.sockets[0].getsockname()[0] == "127.0.0.1"


async def test_requests_can_be_looked_up_and_forgotten():
    async with running() as receiver:
        await ask(receiver, "/flaky?fail=1", "POST", webhook_id="a")
        await ask(receiver, "/ok", "POST", webhook_id="b")

        found = (await ask(receiver, "/requests?path=/flaky&webhook_id=a"))[1]["requests"]
        cleared = await ask(receiver, "/requests", "DELETE")
        left = (await ask(receiver, "/requests"))[1]["requests"]

    assert [one["status"] for one in found] == [500]
    assert cleared == (204, None)
    assert left == []


async def test_connections_that_callers_keep_open_are_closed_on_demand():
    async with running() as receiver:
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        idle_writer.write(b"GET /ok HTTP/1.1\r\nHost: a\r\n\r\n")
        await idle_reader.readuntil(b"}")

        answer = await ask(receiver, "/connections", "DELETE")

        assert answer == (200, {"closed": 2})
        assert await idle_reader.read() == b""
        idle_writer.close()


async def test_health_is_answered_and_not_recorded():
    async with running() as receiver:
        assert (await ask(receiver, "/healthz"))[0] == 200
        assert (await ask(receiver, "/requests"))[1]["total"] == 0


@pytest.mark.parametrize(
    ("target", "method", "host", "status"),
    [
        ("/requests?limit=0", "GET", "127.0.0.1", 400),
        ("/requests", "PUT", "localhost:8001", 405),
        ("/requests", "GET", "evil.example:8001", 403),
        ("/requests", "DELETE", "evil.example", 403),
        ("/connections", "DELETE", "evil.example", 403),
        ("/connections", "GET", "127.0.0.1", 405),
    ],
)
async def test_looking_up_is_refused_where_it_must_be(
    target: str, method: str, host: str, status: int
):
    async with running() as receiver:
        assert (await ask(receiver, target, method, host=host))[0] == status


async def test_the_ledger_has_a_line_per_request_before_the_answer(tmp_path: Path):
    ledger = tmp_path / "ledger"
    async with running(ledger) as receiver:
        await send(receiver, request("/ok") * 50 + request("/500", connection="close"))
        entries = [json.loads(line) for line in ledger.read_text().splitlines()]
        await ask(receiver, "/healthz")

    assert [entry["status"] for entry in entries] == [200] * 50 + [500]
    assert len(ledger.read_text().splitlines()) == 51


async def test_no_answer_goes_out_when_the_ledger_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fdatasync", full)
    async with running(tmp_path / "ledger") as receiver:
        try:
            answer = await send(receiver, request("/ok"))
        except ConnectionResetError:
            answer = b""

    assert answer == b""


async def test_a_stop_finishes_what_is_under_way_and_closes_idle_connections():
    receiver = Receiver(ReceiverOptions())
    await receiver.start()
    idle, idle_writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    idle_writer.write(request("/status/204"))
    await idle.readuntil(b"\r\n\r\n")
    slow = asyncio.create_task(send(receiver, request("/slow?ms=100")))
    await until_recorded(receiver, 2)

    await receiver.stop()

    assert await idle.read() == b""
    assert b"200 OK" in await slow
    idle_writer.close()


async def test_a_stop_cuts_off_what_never_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_module, "STOP_SECONDS", 0.05)
    receiver = Receiver(ReceiverOptions())
    await receiver.start()
    _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(request("/timeout"))
    await until_recorded(receiver, 1)

    await receiver.stop()

    await asyncio.wait_for(receiver.unconnected.wait(), 20)
    writer.close()


async def test_a_taken_port_is_reported(capsys: pytest.CaptureFixture[str]):
    async with running() as receiver:
        arguments = ["--port", str(receiver.port)]
        code = await asyncio.to_thread(receiver_module.main, arguments)

    assert code == 1
    assert "receiver:" in capsys.readouterr().err
