"""The documents' own examples against a live installation: pull workers and long jobs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_receiver import http_receiver
from tests.support.installation import ROOT, Installation, installation
from tests.support.waiting import until

pytestmark = pytest.mark.slow

HOWTO = ROOT / "docs" / "howto"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def punctual() -> Iterator[Installation]:
    # Short, and reachable for the account that the servers run under when started by root.
    with tempfile.TemporaryDirectory(prefix="punctual-e2e-") as directory:
        Path(directory).chmod(0o755)
        with installation(Path(directory) / "var") as made:
            made.start(WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32")
            yield made
            made.stop()


def blocks(page: str, language: str) -> str:
    """Return all code of the language that a page shows."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    return "\n".join(code for name, code in _BLOCK.findall(text) if name == language)


def environment(punctual: Installation, **extra: str) -> dict[str, str]:
    url = f"http://127.0.0.1:{punctual.port}"
    return {**os.environ, "PUNCTUAL_URL": url, "PUNCTUAL_KEY": punctual.key, **extra}


def in_shell(punctual: Installation, code: str, directory: Path, **extra: str) -> str:
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env=environment(punctual, **extra),
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def executions(punctual: Installation, name: str, status: str) -> list[dict[str, Any]]:
    found = punctual.call("GET", f"/v1/executions?q={name.replace(' ', '%20')}&status={status}")
    rows: list[dict[str, Any]] = found["executions"]
    return rows


def test_the_walk_through_of_a_pull_worker_works(punctual: Installation, tmp_path: Path) -> None:
    in_shell(punctual, blocks("run-a-pull-worker.md", "bash"), tmp_path)

    [row] = executions(punctual, "Invoices", "SUCCEEDED")
    shown = punctual.call("GET", f"/v1/executions/{row['id']}")
    assert (shown["result"], shown["progress"]) == ({"invoices": 100}, {"done": 40, "of": 100})
    assert (shown["pool"], shown["worker"], shown["attempt"]) == ("batch-curl", "by-hand", 1)


def test_the_example_worker_leases_beats_ends_and_stops(punctual: Installation) -> None:
    punctual.call("PATCH", "/v1/pools/batch-etl", {"paused": False})
    worker = subprocess.Popen(
        [sys.executable, str(ROOT / "docs" / "examples" / "pull_worker.py"), "batch-etl"],
        env=environment(punctual),
    )
    try:
        for payload in ({"count": 3}, {}):
            punctual.call(
                "POST",
                "/v1/tasks",
                {
                    "name": "Example",
                    "schedule": {"delay_seconds": 0},
                    "payload": payload,
                    "target": {
                        "kind": "pool",
                        "pool": "batch-etl",
                        "handler": "generate_invoices",
                    },
                },
            )
        done = until(lambda: executions(punctual, "Example", "SUCCEEDED"))
        failed = until(lambda: executions(punctual, "Example", "FAILED"))
        listed = punctual.call("GET", "/v1/workers")["workers"]
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0

    shown = punctual.call("GET", f"/v1/executions/{done[0]['id']}")
    assert shown["result"] == {"invoices": 3}
    assert failed[0]["error"]["code"] == "handler_error"
    assert "batch-etl" in {one["pool"] for one in listed}


def test_the_example_of_a_long_job_works(punctual: Installation, tmp_path: Path) -> None:
    with http_receiver() as receiver:
        receiver.status = 202
        example = blocks("long-running-jobs.md", "bash")
        in_shell(punctual, example, tmp_path, RECEIVER_URL=receiver.url)
        [request] = until(lambda: receiver.requests)
    headers = request.headers
    code: dict[str, Any] = {}
    exec(blocks("long-running-jobs.md", "python"), code)

    ending = code["export"](headers["x-scheduler-callback-url"], headers["x-execution-token"])

    assert ending["status"] == "SUCCEEDED"
    shown = punctual.call("GET", f"/v1/executions/{ending['id']}")
    assert (shown["result"], shown["progress"]) == ({"rows": 12000}, {"part": 2})
    assert [one["outcome"] for one in shown["attempts"]] == ["SUCCEEDED"]
