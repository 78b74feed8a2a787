"""The web process: answers, and ends in order."""

from __future__ import annotations

import http.client
import json
import socket

from tests.support.processes import Processes
from tests.support.waiting import until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> tuple[int, dict[str, object]] | None:
    """Return status and document, or None while nobody listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


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

    until(lambda: (get(port, "/readyz") or (0,))[0] == 200, timeout=60.0)
