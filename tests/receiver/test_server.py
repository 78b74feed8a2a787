from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from receiver import server as receiver_module
from receiver.server import Receiver, ReceiverOptions
from tests.receiver.calls import (
    KEY,
    OTHER,
    OWN,
    arrived,
    ask,
    request,
    running,
    send,
    until_recorded,
)


async def test_only_this_machine_can_reach_it():
    async with running() as receiver:
        assert receiver._server is not None
        assert receiver._server.sockets[0].getsockname()[0] == "127.0.0.1"


async def test_what_arrives_below_a_segment_is_kept_for_its_tenant_alone():
    async with running() as receiver:
        assert (await ask(receiver, f"/{OWN}/flaky?fail=1", "POST", webhook_id="a"))[0] == 500
        assert (await ask(receiver, f"/{OTHER}/ok", "POST", webhook_id="b"))[0] == 200

        own, other = await arrived(receiver), await arrived(receiver, OTHER)

    assert [(one["path"], one["status"]) for one in own] == [("/flaky", 500)]
    assert [(one["path"], one["status"]) for one in other] == [("/ok", 200)]


async def test_what_arrives_below_no_segment_is_answered_and_kept_nowhere():
    async with running() as receiver:
        assert await ask(receiver, "/ok", "POST") == (200, {"ok": True})
        assert (await ask(receiver, "/status/418"))[0] == 418

        assert await arrived(receiver) == []
        assert len(receiver._rooms._rooms) == 1


#: All that the product's own client, or a caller on this machine, could claim to be.
FORGED: list[dict[str, str]] = [
    {},
    {"host": "localhost"},
    {"authorization": f"Bearer {OWN}"},
    {"x_forwarded_for": "127.0.0.1", "user_agent": "curl/8"},
    {"x_receiver_key": KEY.hex(), "cookie": f"segment={OWN}"},
]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        "/requests",
        "/requests?limit=100",
        f"/requests/{OTHER}",
        f"/{OWN}/requests",
        f"/{OWN}/requests/{OTHER}",
        f"/{OWN}/../requests/{OTHER}",
        "/connections",
        f"/{OWN}/connections",
        f"/ledger/{OTHER}/ok",
    ],
)
@pytest.mark.parametrize("headers", FORGED)
async def test_no_request_over_the_network_reads_or_removes_anything(path, method, headers):
    async with running() as receiver:
        await ask(receiver, f"/{OTHER}/ok?mark=secret", "POST")
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(request("/ok"))
        await reader.readuntil(b"}")

        status, answer = await ask(receiver, path, method, **headers)

        assert status == 404
        assert "secret" not in json.dumps(answer)
        assert [one["query"] for one in await arrived(receiver, OTHER)] == [{"mark": "secret"}]
        writer.write(request("/ok"))
        assert b"200 OK" in await reader.readuntil(b"}")
        writer.close()


async def test_a_detour_through_the_receiver_itself_reads_nothing():
    async with running() as receiver:
        await ask(receiver, f"/{OTHER}/ok", "POST")
        inside = f"http%3A%2F%2F127.0.0.1%3A{receiver.port}%2Frequests%2F{OTHER}"

        assert (await ask(receiver, f"/{OWN}/chaos?to={inside}"))[0] == 404
        assert (await ask(receiver, f"/{OWN}/chaos?to=%2Frequests%2F{OTHER}"))[0] == 404


@pytest.mark.parametrize("path", ["/chaos?to=/ok", "/long-job", f"/{'a' * 32}/chaos?to=/ok"])
async def test_what_makes_calls_needs_an_address_that_nobody_guesses(path: str):
    async with running() as receiver:
        status, answer = await ask(receiver, path, "POST")

    assert status in (403, 404)
    assert answer["error"]


async def test_health_is_answered_and_tells_nothing():
    async with running() as receiver:
        assert await ask(receiver, "/healthz") == (200, {"status": "ok"})
        assert await arrived(receiver) == []


async def test_a_receiver_alone_announces_an_address_of_its_own():
    receiver = Receiver(ReceiverOptions())
    await receiver.start()
    try:
        own = receiver.own_address.removeprefix(f"http://127.0.0.1:{receiver.port}")
        assert (await ask(receiver, f"{own}chaos?to=/ok"))[0] == 200
    finally:
        await receiver.stop()


async def test_the_ledger_has_a_line_per_request_before_the_answer(tmp_path: Path):
    ledger = tmp_path / "ledger"
    async with running(ledger) as receiver:
        await send(receiver, request("/ok") * 50 + request("/500", connection="close"))
        entries = [json.loads(line) for line in ledger.read_text().splitlines()]
        await ask(receiver, "/healthz")

    assert [entry["status"] for entry in entries] == [200] * 50 + [500]
    assert len(ledger.read_text().splitlines()) == 51


@pytest.mark.logs("receiver_ledger.not_written", reason="disk full")
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


async def test_a_stop_finishes_what_is_under_way_and_closes_idle_connections(tmp_path: Path):
    receiver = Receiver(ReceiverOptions(key=KEY, control=tmp_path / "receiver.sock"))
    await receiver.start()
    idle, idle_writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    idle_writer.write(request("/status/204"))
    await idle.readuntil(b"\r\n\r\n")
    slow = asyncio.create_task(send(receiver, request(f"/{OWN}/slow?ms=100")))
    await until_recorded(receiver, 1)

    await receiver.stop()

    assert await idle.read() == b""
    assert b"200 OK" in await slow
    idle_writer.close()


@pytest.mark.logs("receiver.cut_off", count=1)
async def test_a_stop_cuts_off_what_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_module, "STOP_SECONDS", 0.05)
    receiver = Receiver(ReceiverOptions(key=KEY, control=tmp_path / "receiver.sock"))
    await receiver.start()
    _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(request(f"/{OWN}/timeout"))
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
