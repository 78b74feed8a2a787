from __future__ import annotations

from functools import partial

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from operations import following
from operations.tasks import runs
from tests.factories import finish, make_execution, make_task, release, start
from tests.support.command_calls import call
from tests.support.command_documents import read_document


def _ends_as(monkeypatch, status: str) -> None:
    """Let a worker do the work while the command waits."""

    def work(_: float) -> None:
        claimed = release()
        start(claimed)
        for row in claimed:
            finish(row, status, reason="attempts_exhausted" if status == "FAILED" else "")

    monkeypatch.setattr(runs, "until_final", partial(following.until_final, wait=work))


def test_a_task_runs_now(alpha):
    task = make_task(alpha)

    said = call("tasks", "run", str(task.id)[-12:], "--json")

    execution = Execution.objects.get()
    document = read_document("tasks-run", said.out)
    assert document["results"][0]["execution"]["id"] == str(execution.id)
    assert (execution.trigger, execution.task_id) == ("manual", task.id)
    assert call("tasks", "run", str(task.id)).out.startswith("started  ")


def test_a_run_takes_a_payload_of_its_own_even_null(alpha, tmp_path):
    task = make_task(alpha)
    path = tmp_path / "payload.json"
    path.write_text('{"n": 2}')

    call("tasks", "run", str(task.id), "--payload", f"@{path}")
    call("tasks", "run", str(task.id), "--payload", "null")

    sent = [payload_of(row) for row in Execution.objects.order_by("created_at", "id")]
    assert {"n": 2} in sent
    assert None in sent
    assert call("tasks", "run", str(task.id), "--payload", "{").code == 2


@pytest.mark.parametrize(("status", "code"), [("SUCCEEDED", 0), ("FAILED", 1)])
def test_waiting_shows_the_end_and_leaves_with_it(alpha, monkeypatch, status, code):
    task = make_task(alpha)
    _ends_as(monkeypatch, status)

    said = call("tasks", "run", str(task.id), "--wait")
    document = read_document(
        "tasks-run", call("tasks", "run", str(task.id), "--wait", "60", "--json").out
    )

    assert said.code == code
    assert said.out.startswith(f"{status}  ")
    assert f"  {status}, attempt 1" in said.err
    assert ("http_status: The answer was 500." in said.out) is (status == "FAILED")
    assert document["results"][0]["execution"]["status"] == status


def test_when_the_time_is_up_it_exits_with_7(alpha):
    task = make_task(alpha)

    said = call("tasks", "run", str(task.id), "--wait", "0")

    assert said.code == 7
    assert said.out.startswith("PENDING  ")
    assert "The time is up" in said.err


def test_several_run_and_one_that_is_missing_exits_with_6(alpha):
    task = make_task(alpha)

    said = call("tasks", "run", str(task.id), "0" * 12, "--json")

    document = read_document("tasks-run", said.out)
    assert (said.code, document["done"], document["failed"]) == (6, 1, 1)
    assert document["results"][1]["execution"] is None
    assert call("tasks", "run", "0" * 12).code == 3


def test_a_dry_run_runs_nothing(alpha):
    task = make_task(alpha)

    said = call("tasks", "run", str(task.id), "--dry-run", "--json")

    assert read_document("tasks-run", said.out)["dry_run"] is True
    assert Execution.objects.count() == 0


def test_a_task_of_another_tenant_is_out_of_reach(alpha, beta):
    execution = make_execution(alpha, "SUCCEEDED")

    assert call("tasks", "run", str(execution.task_id), "--tenant", "Beta").code == 3
    assert call("tasks", "run", str(execution.task_id), "--wait", "-1").code == 2
