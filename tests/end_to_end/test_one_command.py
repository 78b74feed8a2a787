"""From one command to a delivered webhook, by nothing but HTTP, as a user does it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
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

from shared.log_events import EVENTS, LIBRARY
from shared.log_events.fields import OF_EVERY_LINE, OF_THE_WORK
from tests.support.ending import has_ended
from tests.support.installation import ROOT, Installation, installation
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
            made.start(LOG_JSON="true")
            yield made
            made.stop()
            assert_all_events(made.output)


def whole_lines(punctual: Installation) -> list[str]:
    """Return the lines of the log that are complete."""
    return punctual.output.rpartition("\n")[0].splitlines()


def failed_in(lines: list[str], execution: str) -> list[dict[str, Any]]:
    """Return the lines about the final failure of an execution."""
    found = [json.loads(line) for line in lines if "execution.failed" in line and execution in line]
    return [line for line in found if line["event"] == "execution.failed"]


def assert_all_events(output: str) -> list[dict[str, Any]]:
    """Return the lines of the log; each must be an event of the catalogue, with its fields."""
    found: list[dict[str, Any]] = []
    for text in output.splitlines():
        line = json.loads(text)
        event = EVENTS[line["event"]]
        assert OF_EVERY_LINE.keys() <= line.keys(), text
        assert line["event"] == LIBRARY or line["level"] == event.level, text
        assert event.fields == () or set(event.fields) <= line.keys(), text
        own = line.keys() - OF_EVERY_LINE.keys() - OF_THE_WORK.keys() - {"exception"}
        assert line["event"] == LIBRARY or own <= set(event.fields), text
        found.append(line)
    return found


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


def test_every_line_of_every_process_is_an_event(punctual: Installation) -> None:
    failed = ended(punctual, one_time(punctual, "/500", retry_policy=ONCE))

    lines = until(lambda: failed_in(lines := whole_lines(punctual), failed["id"]) and lines) or []

    found = assert_all_events("\n".join(lines))
    [line] = failed_in(lines, failed["id"])
    ids = {"task_id": failed["task_id"], "attempt": 1, "error_code": "http_status"}
    assert {**ids, "process_kind": "recorder"}.items() <= line.items()
    assert {"installation.ready", "partitions.changed"} <= {line["event"] for line in found}
    assert punctual.key not in punctual.output


@pytest.mark.skipif(
    shutil.which("jq") is None and os.environ.get("PUNCTUAL_LANGUAGES") != "required",
    reason="jq is not installed",
)
def test_the_commands_of_the_how_to_read_the_log(punctual: Installation, tmp_path: Path) -> None:
    failed = ended(punctual, one_time(punctual, "/500", retry_policy=ONCE))
    lines = until(lambda: failed_in(lines := whole_lines(punctual), failed["id"]) and lines) or []
    (tmp_path / "up.log").write_text("\n".join(lines) + "\n")
    [line] = failed_in(lines, failed["id"])
    page = (ROOT / "docs/howto/read-the-log.md").read_text(encoding="utf-8")
    commands = re.findall(r"```sh\n(jq .*?)```", page, re.DOTALL)

    told = []
    for command in commands:
        env = {**os.environ, "TRACE": line["trace_id"]}
        ran = subprocess.run(
            ["sh", "-ec", command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stderr == ""
        told.append(ran.stdout)

    failures, counts, trace, _ = told
    assert f"{line['time']} http_status {failed['id']}\n" in failures
    assert '"event":"execution.failed","count":' in counts
    assert f"{line['time']} recorder-1 {line['message']}\n" in trace


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
    assert_all_events(punctual.output)
    punctual.start(LOG_JSON="true")

    assert (code, left, runtime) == (0, [], False)
    # What fell due meanwhile was kept, and runs late rather than never.
    assert ended(punctual, task)["status"] == "SUCCEEDED"


def _final(punctual: Installation, execution: str) -> dict[str, Any] | None:
    found: dict[str, Any] = punctual.call("GET", f"/v1/executions/{execution}")
    return found if found["status"] in ("SUCCEEDED", "FAILED") else None
