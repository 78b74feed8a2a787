from __future__ import annotations

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from tests.factories import make_execution
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document


def test_what_waits_is_cancelled_and_what_runs_is_told_to_end(alpha):
    running = make_execution(alpha, "RUNNING")
    waiting = make_execution(alpha, "PENDING")

    said = call("executions", "cancel", str(waiting.id), str(running.id)[-12:], "--yes", "--json")

    document = read_document("executions-cancel", said.out)
    assert [found["status"] for found in document["results"]] == ["CANCELLED", "RUNNING"]
    assert said.err.startswith("1 running: asked to stop")
    waiting.refresh_from_db()
    running.refresh_from_db()
    assert waiting.status == "CANCELLED"
    assert running.cancel_requested_at is not None


def test_cancelling_asks_on_a_terminal_and_needs_yes_elsewhere(alpha, monkeypatch):
    execution = make_execution(alpha)

    type_in(monkeypatch, "n\n")
    assert call("executions", "cancel", str(execution.id)).code == 1
    type_in(monkeypatch, "y\n", terminal=False)
    assert call("executions", "cancel", str(execution.id)).code == 2
    execution.refresh_from_db()
    assert execution.status == "PENDING"


def test_a_finished_execution_is_retried_as_a_new_one(alpha):
    execution = make_execution(alpha, "FAILED")

    said = call(
        *("executions", "retry", str(execution.id), "--payload", '{"mended": true}', "--json")
    )

    result = read_document("executions-retry", said.out)["results"][0]
    made = Execution.objects.get(pk=result["retry_execution_id"])
    assert (made.parent_id, payload_of(made)) == (execution.id, {"mended": True})


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_a_dry_run_changes_nothing(alpha, verb):
    execution = make_execution(alpha, "FAILED")

    said = call("executions", verb, str(execution.id), "--dry-run", "--json")

    assert read_document(f"executions-{verb}", said.out)["dry_run"] is True
    assert Execution.objects.count() == 1


def test_exit_codes_say_why_nothing_was_done(alpha, beta):
    done = make_execution(alpha, "SUCCEEDED")
    waiting = make_execution(alpha)

    assert call("executions", "cancel", str(done.id), "--yes").code == 4
    assert call("executions", "retry", str(waiting.id)).code == 4
    assert call("executions", "retry", "0" * 12).code == 3
    assert call("executions", "retry", str(done.id), "--tenant", "Beta").code == 3
    assert call("executions", "retry", str(done.id), "--payload", "{").code == 2


def test_done_in_part_exits_with_6(alpha):
    done, waiting = make_execution(alpha, "SUCCEEDED"), make_execution(alpha)

    said = call("executions", "retry", str(done.id), str(waiting.id))

    assert said.code == 6
    assert f"✔ retried  {str(done.id)[-12:]}  was SUCCEEDED" in said.out
    assert said.err == "1 done, 1 failed\n"
