"""The web process: answers, and ends in order."""

from __future__ import annotations

import socket

import pytest

from tests.support.processes import Processes
from tests.support.waiting import until
from tests.support.web import free_port, get

pytestmark = pytest.mark.slow


def listening(port: int) -> int:
    """Return how many sockets listen on the port."""
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table]
    return sum(line[1].endswith(f":{port:04X}") and line[3] == "0A" for line in lines)


def test_it_tells_what_is_missing_and_stops_cleanly(run: Processes) -> None:
    port = free_port()
    web = run.start("web", PORT=str(port))

    assert until(lambda: get(port, "/healthz")) == (200, {"status": "ok"})
    status, document = until(lambda: get(port, "/readyz")) or (0, {})
    checks = document["checks"]

    assert status == 503
    assert isinstance(checks, dict)
    assert (checks["database"], checks["migrations"]) == ("ok", "ok")
    assert checks["scheduler"] != "ok"
    assert checks["redis"] != "ok"
    assert web.stop() == 0


def test_it_is_ready_when_all_kinds_run(run: Processes) -> None:
    port = free_port()
    run.start("web", PORT=str(port))
    for kind in ("scheduler", "worker", "recorder"):
        run.start(kind)

    until(lambda: (get(port, "/readyz") or (0,))[0] == 200)


def test_another_on_the_same_port_answers_when_one_has_ended(run: Processes) -> None:
    port = free_port()
    first, second = (run.start("web", PORT=str(port)) for _ in range(2))
    until(lambda: listening(port) == 2)

    assert first.stop() == 0

    # Chance would send some of so many to the one that is gone.
    assert {(get(port, "/healthz") or (0,))[0] for _ in range(32)} == {200}
    assert second.stop() == 0
    assert get(port, "/healthz") is None


def test_a_port_that_somebody_else_has_is_named(run: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        web = run.start("web", PORT=str(port), LOG_JSON="true")

        assert web.popen.wait(60.0) == 1

    [line] = web.events
    assert (line["event"], line["process_kind"]) == ("process.wrote", "web")
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in line["text"]
    assert "Traceback" not in web.output
