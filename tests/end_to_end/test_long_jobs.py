"""Long jobs and leased work while processes of the installation are killed (C4, C5, J2)."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.installation import Installation, installation
from tests.support.waiting import until

pytestmark = pytest.mark.slow

POOL = "reports"
QUICK_RETRY = {"max_attempts": 3, "initial_delay_seconds": 0.1, "max_delay_seconds": 0.1}


@pytest.fixture(scope="module")
def receiver() -> Iterator[HttpReceiver]:
    with http_receiver() as found:
        yield found


@pytest.fixture(scope="module")
def punctual(receiver: HttpReceiver) -> Iterator[Installation]:
    # Short, and reachable for the account that the servers run under when started by root.
    with tempfile.TemporaryDirectory(prefix="punctual-long-") as directory:
        Path(directory).chmod(0o755)
        with installation(Path(directory) / "var") as made:
            made.start(WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32")
            yield made
            made.stop()


def kill(punctual: Installation, kind: str) -> None:
    """End all processes of the kind at once, and wait until the supervisor has started others."""
    before = pids(punctual, kind)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(lambda: (now := pids(punctual, kind)) and not set(now) & set(before))


def pids(punctual: Installation, kind: str) -> list[int]:
    return [int(one["pid"]) for one in punctual.processes() if one["kind"] == kind]


def only_execution(punctual: Installation, task: dict[str, Any]) -> dict[str, Any]:
    found = punctual.call("GET", f"/v1/tasks/{task['id']}/executions")["executions"]
    assert len(found) == 1
    shown: dict[str, Any] = punctual.call("GET", f"/v1/executions/{found[0]['id']}")
    return shown


def state(punctual: Installation, execution_id: str) -> str:
    return str(punctual.call("GET", f"/v1/executions/{execution_id}")["status"])


def test_a_long_job_outlives_worker_scheduler_and_recorder(
    punctual: Installation, receiver: HttpReceiver
) -> None:
    receiver.status = 202
    target = {"url": receiver.url, "completion": "callback", "heartbeat_timeout_seconds": 60}
    task = punctual.call("POST", "/v1/tasks", {"schedule": {"delay_seconds": 0}, "target": target})
    until(lambda: receiver.requests)
    sent = receiver.requests[0].headers
    execution_id = sent["webhook-id"]
    until(lambda: state(punctual, execution_id) == "RUNNING")

    def tell(verb: str, body: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = punctual.call(
            "POST",
            f"/v1/executions/{execution_id}/{verb}",
            body,
            X_Execution_Token=sent["x-execution-token"],
        )
        return told

    for kind in ("worker", "scheduler", "recorder"):
        kill(punctual, kind)
        assert tell("heartbeat", {"progress": {"survived": kind}})["cancel_requested"] is False
    tell("complete", {"result": {"rows": 7}})

    ended = only_execution(punctual, task)
    assert (ended["status"], ended["attempt"]) == ("SUCCEEDED", 1)
    assert (ended["progress"], ended["result"]) == ({"survived": "recorder"}, {"rows": 7})
    assert len(receiver.requests) == 1


def test_what_a_killed_pull_worker_held_goes_to_another_and_its_late_word_is_refused(
    punctual: Installation,
) -> None:
    def lease(worker: str, seconds: int) -> list[dict[str, Any]]:
        body = {"worker": worker, "max": 1, "lease_seconds": seconds, "wait_seconds": 5}
        found: list[dict[str, Any]] = punctual.call("POST", f"/v1/pools/{POOL}/lease", body)[
            "leases"
        ]
        return found

    def complete(held: dict[str, Any]) -> int:
        path = f"/v1/executions/{held['execution']['id']}/complete"
        body = {"fencing_token": held["fencing_token"], "result": {}}
        return punctual.answer("POST", path, body, X_Execution_Token=held["token"])[0]

    punctual.call("PATCH", f"/v1/pools/{POOL}", {"paused": False})
    task = punctual.call(
        "POST",
        "/v1/tasks",
        {
            "schedule": {"delay_seconds": 0},
            "target": {"kind": "pool", "pool": POOL, "handler": "make"},
            "retry_policy": QUICK_RETRY,
        },
    )
    first = until(lambda: lease("killed", 5))[0]

    # No heartbeat comes, as from a worker that was killed.
    second = until(lambda: lease("other", 60))[0]

    assert second["execution"]["id"] == first["execution"]["id"]
    assert second["fencing_token"] > first["fencing_token"]
    assert complete(first) == 409
    assert complete(second) == complete(second) == 200
    assert complete(first) == 409
    assert only_execution(punctual, task)["status"] == "SUCCEEDED"
