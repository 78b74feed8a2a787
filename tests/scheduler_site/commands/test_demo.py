from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Iterator

import pytest

from tenants.models import Tenant
from tests.factories import make_tenant
from tests.scheduler_site.demo_tenant import RECEIVER, allow_receiver
from tests.scheduler_site.receiver_calls import running
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _receiver(settings, tmp_path, monkeypatch):
    allow_receiver(settings)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


def test_a_seed_tells_what_it_made_and_a_second_one_that_it_is_there():
    first = read_document("demo-seed", call("demo", "seed", "--receiver", RECEIVER, "--json").out)
    second = call("demo", "seed", "--receiver", RECEIVER)

    assert first["made"]
    assert (second.code, second.err) == (0, "")
    assert second.out.startswith("The tenant demo is there already: ")


def test_without_a_receiver_there_is_nothing_to_call():
    assert call("demo", "seed").code == 3
    assert call("demo", "seed", "--receiver", "nowhere").code == 2
    assert not Tenant.objects.exists()


def test_a_reset_asks_first(monkeypatch):
    call("demo", "seed", "--receiver", RECEIVER)

    assert call("demo", "reset").code == 2
    type_in(monkeypatch, "n\n")
    assert call("demo", "reset").code == 1
    document = read_document("demo-reset", call("demo", "reset", "--yes", "--json").out)

    assert document["tasks"] >= 12
    assert not Tenant.objects.filter(name="demo").exists()
    assert call("demo", "reset", "--yes").code == 3


def test_somebody_elses_tenant_is_a_conflict():
    make_tenant("demo")

    assert call("demo", "seed", "--receiver", RECEIVER).code == 4
    assert call("demo", "reset", "--yes").code == 4


@contextlib.contextmanager
def _receiving() -> Iterator[int]:
    """Run the test receiver in a thread of its own; its port."""
    ports: list[int] = []
    listening, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with running() as receiver:
            ports.append(receiver.port)
            listening.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert listening.wait(20)
    try:
        yield ports[0]
    finally:
        done.set()
        thread.join(20)


def test_the_sink_tells_what_it_got_last_but_not_what_that_carried():
    with _receiving() as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/ok", b"secret")
        connection.getresponse().read()
        connection.close()
        said = call("demo", "sink", "--receiver", f"http://127.0.0.1:{port}/", "--json")

    document = read_document("demo-sink", said.out)
    assert (said.code, document["answers"]) == (0, True)
    assert document["last_request"]["path"] == "/ok"
    assert "secret" not in said.out


def test_a_sink_that_is_away_exits_with_1():
    with _receiving() as port:
        pass

    said = call("demo", "sink", "--receiver", f"http://127.0.0.1:{port}/", "--json")

    assert said.code == 1
    assert read_document("demo-sink", said.out)["answers"] is False
