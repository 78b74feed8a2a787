"""A backup under load, restored on an empty machine: nothing fires before the word (F40)."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.installation import Installation, installation
from tests.support.waiting import until

pytestmark = pytest.mark.slow

PASSPHRASE = "correct horse battery"
POLICIES = ("skip", "coalesce", "replay")
NETWORKS = {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.1/32"}
#: Few enough instants that the missed ones stay rows of their own, however slow the machine is.
EVERY = timedelta(seconds=5)
#: What was prepared before the dump is missed from then on.
NEGLECTED = timedelta(seconds=61)


@dataclass
class Story:
    """Both installations, and what the first one had when the backup was made."""

    first: Installation
    second: Installation
    receiver: HttpReceiver
    folder: Path
    tasks: dict[str, Any]
    secret: str
    backed_up_at: datetime


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def create(punctual: Installation, receiver: HttpReceiver, path: str, **parts: Any) -> Any:
    body = {
        "name": path,
        "target": {"url": f"http://127.0.0.1:{receiver.port}/{path}"},
        "payload": {"secret of": path},
        "retry_policy": {"max_attempts": 1},
        **parts,
    }
    return punctual.call("POST", "/v1/tasks", body)


def make_tasks(punctual: Installation, receiver: HttpReceiver) -> dict[str, Any]:
    soon = (datetime.now(UTC) + timedelta(seconds=50)).isoformat()
    found = {
        policy: create(
            punctual, receiver, policy, schedule={"every": "PT5S", "misfire_policy": policy}
        )
        for policy in POLICIES
    }
    found["one-time"] = create(punctual, receiver, "one-time", schedule={"run_at": soon})
    found["paused"] = create(punctual, receiver, "paused", schedule={"every": "PT5S"})
    punctual.call("POST", f"/v1/tasks/{found['paused']['id']}/pause", {"note": "before"})
    found["dead"] = punctual.call(
        "POST",
        "/v1/tasks",
        {
            "schedule": {"delay_seconds": 0},
            "target": {"url": punctual.target("/500")},
            "payload": {"n": "dead"},
            "retry_policy": {"max_attempts": 1},
        },
    )
    return found


def executions(punctual: Installation, task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all of the task's executions, oldest first."""
    path = f"/v1/tasks/{task['id']}/executions?limit=200"
    page = punctual.call("GET", path)
    found: list[dict[str, Any]] = list(page["executions"])
    while cursor := page["pagination"]["next_cursor"]:
        page = punctual.call("GET", f"{path}&cursor={cursor}")
        found += page["executions"]
    return sorted(found, key=lambda row: row["scheduled_for"])


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    os.environ["BACKUP_PASSPHRASE"] = PASSPHRASE
    with (
        tempfile.TemporaryDirectory(prefix="punctual-e2e-") as directory,
        http_receiver() as receiver,
    ):
        folder = Path(directory)
        folder.chmod(0o755)
        with installation(folder / "a") as first, installation(folder / "b") as second:
            first.start(**NETWORKS)
            tasks = make_tasks(first, receiver)
            until(
                lambda: first.call("GET", f"/v1/dlq?task={tasks['dead']['id']}")["dead_letters"],
                timeout=120.0,
            )
            secrets = first.call("GET", "/v1/signing-secrets?reveal=true")["signing_secrets"]
            taken = backup_under_load(first, receiver, folder / "punctual.backup")
            at = moment(taken["database_time"])
            assert first.stop() == 0
            yield Story(first, second, receiver, folder, tasks, secrets[0]["secret"], at)
            second.stop()
    del os.environ["BACKUP_PASSPHRASE"]


def backup_under_load(punctual: Installation, receiver: HttpReceiver, path: Path) -> dict[str, Any]:
    """Back up while tasks are created and run; return what the command said."""
    ended = threading.Event()

    def load() -> None:
        while not ended.is_set():
            create(punctual, receiver, "load", schedule={"delay_seconds": 0})

    thread = threading.Thread(target=load)
    thread.start()
    try:
        until(lambda: [one for one in receiver.requests if one.path == "/load"])
        done = punctual.manage("backup", "--to", str(path), "--json")
    finally:
        ended.set()
        thread.join()
    assert done.returncode == 0, done.stderr
    return _document(done.stdout)


def _document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_restored_installation_waits_for_the_word_and_goes_on_by_policy(story: Story) -> None:
    _it_is_the_first_one_again(story)
    _nothing_fires_until_the_word(story)
    _what_was_missed_goes_by_its_policy(story)


def _it_is_the_first_one_again(story: Story) -> None:
    second, receiver = story.second, story.receiver
    refused = second.manage("restore", "--confirm", "--yes")
    assert refused.returncode == 5, refused.stderr

    restored = second.manage("restore", "--from", str(story.folder / "punctual.backup"))
    assert restored.returncode == 0, restored.stderr
    receiver.requests.clear()
    # The key of the first, which is in the backup; the second was never told it.
    own, second.key = second.key, story.first.key
    assert own != second.key
    second.start(**NETWORKS, BOOTSTRAP_API_KEY=own)

    listed = {task["name"]: task for task in second.call("GET", "/v1/tasks?limit=200")["tasks"]}
    assert {"one-time", "paused", *POLICIES} <= listed.keys()
    shown = second.call("GET", f"/v1/tasks/{story.tasks['skip']['id']}")
    assert shown["payload"] == {"secret of": "skip"}
    [letter] = second.call("GET", f"/v1/dlq?task={story.tasks['dead']['id']}")["dead_letters"]
    assert letter["payload"] == {"n": "dead"}
    secrets = second.call("GET", "/v1/signing-secrets?reveal=true")["signing_secrets"]
    assert secrets[0]["secret"] == story.secret
    assert second.manage("status").returncode == 1
    assert "held" in second.manage("doctor").stdout


def _nothing_fires_until_the_word(story: Story) -> None:
    second, receiver = story.second, story.receiver
    due = story.backed_up_at + NEGLECTED + timedelta(seconds=20)
    until(lambda: datetime.now(UTC) > due, timeout=120.0)

    explained = second.manage("explain", executions(second, story.tasks["skip"])[-1]["id"])

    assert receiver.requests == []
    assert "held back" in explained.stdout
    unasked = second.manage("restore", "--confirm")
    assert unasked.returncode == 2
    assert "replay" in unasked.stdout
    assert second.manage("restore", "--confirm", "--yes", "--json").returncode == 0


def _what_was_missed_goes_by_its_policy(story: Story) -> None:
    second, receiver = story.second, story.receiver
    confirmed = datetime.now(UTC)
    until(lambda: _caught_up(story, confirmed))

    for policy in POLICIES:
        rows = executions(second, story.tasks[policy])
        reasons = Counter(row["reason"] for row in rows if moment(row["scheduled_for"]) < confirmed)
        ran = f"misfire_{'replayed' if policy == 'replay' else 'coalesced'}"
        made_up = [row for row in rows if row["reason"] == ran and row["status"] != "SKIPPED"]
        if policy == "skip":
            assert reasons["misfire_skipped"]
            assert not made_up
        elif policy == "coalesce":
            assert len(made_up) <= 1
        else:
            assert len(made_up) > 10
        _accounted(rows, confirmed)
    once = executions(second, story.tasks["one-time"])
    assert [row["status"] for row in once] == ["SUCCEEDED"]
    assert len([one for one in receiver.requests if one.path == "/one-time"]) == 1
    assert [one for one in receiver.requests if one.path == "/paused"] == []
    verified = next(one for one in receiver.requests if one.path == "/one-time")
    assert Webhook(story.secret).verify(verified.body, verified.headers)
    assert second.manage("restore", "--confirm", "--yes").returncode == 4


def _caught_up(story: Story, since: datetime) -> bool:
    """Return whether everything from before the word has its end, and new instants run again."""
    for name in (*POLICIES, "one-time"):
        rows = executions(story.second, story.tasks[name])
        if [r for r in rows if r["finished_at"] is None and moment(r["scheduled_for"]) < since]:
            return False
        ended = [r for r in rows if r["status"] == "SUCCEEDED"]
        if name != "one-time" and not [r for r in ended if moment(r["scheduled_for"]) > since]:
            return False
    return True


def _accounted(rows: list[dict[str, Any]], until_moment: datetime) -> None:
    """Every instant of the fixed rate from the first to now stands in the ledger, once."""
    covered = Counter(moment(row["scheduled_for"]) for row in rows)
    wanted = min(covered)
    while wanted < until_moment - timedelta(seconds=5):
        assert covered[wanted] == 1, (wanted, covered[wanted])
        wanted += EVERY
