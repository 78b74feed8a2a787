"""From one command to a delivered webhook, by nothing but HTTP, as a user does it."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from standardwebhooks import Webhook

from tests.support.ending import has_ended
from tests.support.installation import Installation, installation
from tests.support.waiting import until

KINDS = {"web", "scheduler", "worker", "system-worker", "recorder", "postgresql", "valkey"}
RETRY = {
    "max_attempts": 5,
    "backoff": "exponential",
    "initial_delay_seconds": 0.4,
    "factor": 2,
    "max_delay_seconds": 1.2,
    "jitter": "full",
}


ONCE = {"max_attempts": 1}


@pytest.fixture(scope="module")
def punctual() -> Iterator[Installation]:
    # Short, and reachable for the account that the servers run under when started by root.
    with tempfile.TemporaryDirectory(prefix="punctual-e2e-") as directory:
        Path(directory).chmod(0o755)
        with installation(Path(directory) / "var") as made:
            made.start()
            yield made
            made.stop()


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def executions(punctual: Installation, task: dict[str, Any], *status: str) -> list[dict[str, Any]]:
    """Return the task's executions of these statuses, oldest first."""
    found: list[dict[str, Any]] = []
    for one in status:
        page = punctual.call("GET", f"/v1/tasks/{task['id']}/executions?limit=200&status={one}")
        found += page["executions"]
    return sorted(found, key=lambda row: row["scheduled_for"])


def one_time(punctual: Installation, path: str, **parts: Any) -> dict[str, Any]:
    """Create a task that calls the receiver's path once, now."""
    body = {
        "schedule": {"delay_seconds": 0},
        "target": {"url": punctual.target(path)},
        "payload": {"n": 1},
        "retry_policy": RETRY,
        **parts,
    }
    created: dict[str, Any] = punctual.call("POST", "/v1/tasks", body)
    return created


def ended(punctual: Installation, task: dict[str, Any]) -> dict[str, Any]:
    """Wait until the one execution of a one-time task has ended; return it with attempts."""
    (row,) = until(lambda: executions(punctual, task, "SUCCEEDED", "FAILED"))
    found: dict[str, Any] = punctual.call("GET", f"/v1/executions/{row['id']}")
    return found


def test_the_short_form_of_a_cron_is_delivered_on_time_and_signed(punctual: Installation) -> None:
    path = f"/ok?run={uuid.uuid4().hex}"
    status, task = punctual.answer(
        "POST",
        "/v1/tasks",
        {
            "name": "Every two seconds",
            "type": "RECURRING",
            "payload": {
                "webhook_url": punctual.target(path),
                "method": "POST",
                "body": {"report_type": "daily"},
            },
            "cron_expression": "*/2 * * * * *",
            "end_date": "2099-12-31T00:00:00Z",
        },
    )
    assert status == 201, task

    first, second, *_ = until(
        lambda: len(done := executions(punctual, task, "SUCCEEDED")) > 1 and done
    ) or [{}, {}]

    assert moment(first["scheduled_for"]) == moment(task["next_execution"])
    assert moment(second["scheduled_for"]) - moment(first["scheduled_for"]) == timedelta(seconds=2)
    assert first["start_delay_ms"] >= 0
    (request,) = punctual.received("/ok", webhook_id=first["id"])
    shown = punctual.call("GET", "/v1/signing-secrets?reveal=true")["signing_secrets"]
    verified = Webhook(shown[0]["secret"]).verify(request["body"], request["headers"])
    assert verified == {"report_type": "daily"}
    assert moment(request["received_at"]) >= moment(first["scheduled_for"])
    assert request["headers"]["x-scheduler-attempt"] == "1"
    assert moment(request["headers"]["x-scheduler-scheduled-for"]) == moment(first["scheduled_for"])
    punctual.call("DELETE", f"/v1/tasks/{task['id']}")


def test_a_receiver_that_fails_three_times_is_called_four_times(punctual: Installation) -> None:
    task = one_time(punctual, "/flaky?fail=3")

    execution = ended(punctual, task)

    assert (execution["status"], execution["attempt"]) == ("SUCCEEDED", 4)
    attempts = execution["attempts"]
    assert [row["outcome"] for row in attempts] == ["FAILED", "FAILED", "FAILED", "SUCCEEDED"]
    for before, after in pairwise(attempts):
        # Full jitter may wait for no time at all; its upper bound is for tests of the policy.
        assert moment(after["started_at"]) >= moment(before["finished_at"])
    requests = punctual.received("/flaky", webhook_id=execution["id"])
    assert [row["headers"]["x-scheduler-attempt"] for row in requests] == ["1", "2", "3", "4"]
    assert len({row["headers"]["idempotency-key"] for row in requests}) == 1


def test_what_always_fails_becomes_a_dead_letter_that_a_mended_retry_resolves(
    punctual: Installation,
) -> None:
    task = one_time(punctual, "/500", retry_policy={**RETRY, "max_attempts": 2})

    failed = ended(punctual, task)

    assert (failed["status"], failed["reason"]) == ("FAILED", "attempts_exhausted")
    assert failed["error"]["code"] == "http_status"
    (letter,) = punctual.call("GET", f"/v1/dlq?task={task['id']}")["dead_letters"]
    assert (letter["execution_id"], letter["payload"]) == (failed["id"], {"n": 1})
    # The target is mended by an edit; a one-time task that has failed keeps its definition, so
    # the retry is what runs against it.
    punctual.call("PATCH", f"/v1/tasks/{task['id']}", {"target": {"url": punctual.target("/ok")}})

    made = punctual.call("POST", f"/v1/dlq/{letter['id']}/retry", {"payload": {"n": 2}})
    again = until(lambda: _final(punctual, made["id"])) or {}

    assert (again["status"], again["parent_id"]) == ("SUCCEEDED", failed["id"])
    (request,) = punctual.received("/ok", webhook_id=again["id"])
    assert request["body"] == '{"n":2}'
    resolved = punctual.call("GET", f"/v1/dlq/{letter['id']}")
    assert (resolved["resolved"], resolved["resolution"]) == (True, "retried")
    assert punctual.call("GET", f"/v1/dlq?task={task['id']}&resolved=false")["dead_letters"] == []


@pytest.mark.parametrize("path", ["/requests?limit=100", "/OWN/requests", "/requests/OWN"])
def test_a_webhook_reads_nothing_at_the_receiver_whatever_it_carries(
    punctual: Installation, path: str
) -> None:
    ended(punctual, one_time(punctual, "/ok", payload={"mark": "not to be seen"}))
    own = urlsplit(punctual.target("")).path.strip("/")
    forged = {"Authorization": f"Bearer {punctual.key}", "X-Forwarded-For": "127.0.0.1"}
    url = f"http://127.0.0.1:{punctual.receiver_port}{path.replace('OWN', own)}"
    snooping = {"url": url, "method": "GET", "headers": forged}

    found = ended(punctual, one_time(punctual, "", target=snooping, retry_policy=ONCE))

    assert found["response_status"] == 404
    assert "not to be seen" not in json.dumps(found["attempts"])
    (request, *_) = punctual.received("/ok")[-1:]
    assert request["body"] == '{"mark":"not to be seen"}'


def test_a_long_job_of_the_receiver_reports_to_this_installation(punctual: Installation) -> None:
    job = {"url": punctual.target("/long-job?seconds=0&progress=1"), "completion": "callback"}

    found = ended(punctual, one_time(punctual, "", target=job))

    assert (found["status"], found["result"]) == ("SUCCEEDED", {"heartbeats": 1})


def test_every_kind_runs_and_is_listed(punctual: Installation) -> None:
    assert {row["kind"] for row in punctual.processes()} >= KINDS
    assert all(os.path.exists(f"/proc/{row['pid']}") for row in punctual.processes())


def test_a_second_up_says_that_one_runs(punctual: Installation) -> None:
    refused = punctual.manage("up")

    assert refused.returncode == 4
    assert "already runs" in refused.stderr


def test_ctrl_c_leaves_nothing_behind_and_a_second_start_works_at_once(
    punctual: Installation,
) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    task = one_time(punctual, "/ok", schedule={"run_at": at})
    pids = [row["pid"] for row in punctual.processes()]

    code = punctual.stop()
    left = [pid for pid in pids if not has_ended(pid, timeout=0)]
    runtime = (punctual.data_dir / "runtime.json").exists()
    punctual.start()

    assert (code, left, runtime) == (0, [], False)
    # What fell due meanwhile was kept, and runs late rather than never.
    assert ended(punctual, task)["status"] == "SUCCEEDED"


def _final(punctual: Installation, execution: str) -> dict[str, Any] | None:
    found: dict[str, Any] = punctual.call("GET", f"/v1/executions/{execution}")
    return found if found["status"] in ("SUCCEEDED", "FAILED") else None
