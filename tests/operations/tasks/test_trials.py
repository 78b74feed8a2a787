from __future__ import annotations

from typing import Any

import pytest

from executions.triggering.test_delivery import TestResult
from shared.actor import COMMAND
from tests.factories import make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document

REQUEST = {"method": "POST", "url": "https://api.example.com/r", "headers": {}, "body": "{}"}
ANSWER = {"status": 200, "headers": {"x": "y"}, "body": "ok", "truncated": False}


def answers(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> list[Any]:
    seen: list[Any] = []
    values: dict[str, Any] = {
        "outcome": "SUCCEEDED",
        "would_retry": False,
        "error_code": "",
        "error_message": "",
        "request": REQUEST,
        "response": ANSWER,
        "timings": {"total": 12.5},
    }
    result = TestResult(**{**values, **parts})

    def send(tenant: Any, task: Any, *, actor: Any, receiver_path: Any) -> TestResult:
        seen.append((tenant, task, actor.name, receiver_path))
        return result

    monkeypatch.setattr("operations.tasks.trials.send_test_of_task", send)
    return seen


def test_what_came_of_a_test_is_printed(alpha, monkeypatch):
    task, seen = make_task(alpha), answers(monkeypatch)

    said = call("tasks", "test", str(task.id)[-12:], "--json")

    document = read_document("tasks-test", said.out)
    assert (said.code, document["outcome"], document["response"]["status"]) == (0, "SUCCEEDED", 200)
    assert seen == [(alpha.id, task.id, COMMAND.name, None)]
    assert "POST https://api.example.com/r" in call("tasks", "test", str(task.id)).out


def test_a_test_without_an_answer_leaves_with_1(alpha, monkeypatch):
    task = make_task(alpha)
    answers(
        monkeypatch, outcome="FAILED", response=None, error_code="connect", error_message="refused"
    )

    said = call("tasks", "test", str(task.id), "--json")

    assert said.code == 1
    assert read_document("tasks-test", said.out)["error"]["code"] == "connect"


def test_an_unknown_task_leaves_with_3(alpha):
    assert call("tasks", "test", "00000000-0000-0000-0000-000000000000").code == 3


def test_a_test_goes_to_the_receiver_where_asked(alpha, monkeypatch):
    task, seen = make_task(alpha), answers(monkeypatch)

    said = call("tasks", "test", str(task.id), "--to-receiver")
    call("tasks", "test", str(task.id), "--to-receiver", "/status/503")

    assert [path for *_, path in seen] == ["/ok", "/status/503"]
    assert "nothing arrived" in said.out
    assert call("tasks", "test", str(task.id), "--to-receiver", "ok").code == 2
