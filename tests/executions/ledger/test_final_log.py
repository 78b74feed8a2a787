"""Log lines of executions that ended without success."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from executions import transitions
from executions.changes.cancellation import cancel_execution
from executions.choices import AttemptOutcome, Status
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.models.minute_stat import START_TARGET_MS
from executions.transitions import Finish
from shared.log_output import LineHandler
from tenants.models import Tenant
from tests.executions.leasing import accepted, call, let_expire, rescue, take_one, work
from tests.factories import ACTOR, finish, make_execution, once, release
from tests.support.log_lines import lines_of

pytestmark = pytest.mark.django_db

ONE_TRY: dict[str, Any] = {"max_attempts": 1}
#: Texts of targets, receivers and users, which no line may show.
CANARY = "canary-7f3a"
OnCommit = Callable[..., AbstractContextManager[object]]
Line = tuple[str, str, dict[str, Any]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[Line]]:
    """Return level, event and fields of the lines so far."""
    caplog.set_level(logging.INFO, "executions.engine.final_log")

    def found() -> list[Line]:
        records = [one for one in caplog.records if one.name == "executions.engine.final_log"]
        return [(one.levelname, one.getMessage(), vars(one)) for one in records]

    return found


def ids_of(execution: Execution) -> dict[str, str]:
    return {
        "execution_id": str(execution.id),
        "task_id": str(execution.task_id),
        "tenant_id": str(execution.tenant_id),
        "trace_id": execution.id.hex,
    }


def assert_failed(lines: list[Line], execution: Execution, **fields: Any) -> None:
    [(level, event, found)] = lines
    expected = {**ids_of(execution), "attempt": 1, **fields}
    assert (level, event) == ("WARNING", "execution.failed")
    assert {name: found[name] for name in expected} == expected
    assert CANARY not in repr(found)


def test_an_answer_that_ends_it_is_logged_with_its_ids(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    task = once(payload={"secret": CANARY}, retry_policy=ONE_TRY)
    execution = make_execution(alpha, body=task)
    [row] = release()

    with on_commit(execute=True):
        finish(row, "FAILED", reason="attempts_exhausted", error_message=CANARY)

    assert_failed(
        lines(),
        execution,
        reason="attempts_exhausted",
        error_code="http_status",
        response_status=500,
        worker="worker-1",
    )


def test_a_failure_that_is_tried_again_is_not_final(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    make_execution(alpha)
    [row] = release()

    with on_commit(execute=True):
        finish(row, "RETRYING", retry_in=5.0)

    assert not lines()


def test_what_is_not_committed_is_not_logged(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    make_execution(alpha)
    [row] = release()

    with on_commit(execute=True), transaction.atomic():
        finish(row, "FAILED")
        transaction.set_rollback(True)

    assert not lines()


def test_a_stale_outcome_is_not_logged(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    make_execution(alpha)
    [row] = release()
    finish(row)

    with on_commit(execute=True):
        finish(row, "FAILED")

    assert not lines()


@pytest.mark.parametrize(
    ("lost_before", "policy", "reason"),
    [(0, ONE_TRY, "attempts_exhausted"), (2, {"max_attempts": 25}, "poisoned")],
)
def test_rescue_logs_what_it_gives_up(
    alpha: Tenant,
    lines: Callable[[], list[Line]],
    on_commit: OnCommit,
    lost_before: int,
    policy: dict[str, Any],
    reason: str,
):
    work(alpha, retry_policy=policy)
    held = take_one(alpha)
    call(held.execution_id, "heartbeat", held.token)
    Execution.objects.filter(pk=held.execution_id).update(lost_count=F("lost_count") + lost_before)
    let_expire(held.execution_id)

    with on_commit(execute=True):
        assert rescue() == 1

    execution = Execution.objects.get(pk=held.execution_id)
    assert execution.status == Status.FAILED
    assert_failed(lines(), execution, reason=reason, error_code="worker_lost")


def test_the_end_of_a_silent_receiver_is_logged(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    execution, _ = accepted(alpha)
    Execution.objects.filter(pk=execution.pk).update(max_attempts=1)
    let_expire(execution.id)

    with on_commit(execute=True):
        assert rescue() == 1

    assert_failed(lines(), execution, reason="attempts_exhausted", error_code="heartbeat_lost")


def test_what_a_holder_fails_for_good_is_logged_without_its_words(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    execution, token = accepted(alpha)

    with on_commit(execute=True):
        answer = call(execution.id, "fail", token, {"error": CANARY, "retry": False})

    assert answer.status_code == 200
    assert_failed(lines(), execution, reason="not_retryable")


def test_a_run_that_is_cancelled_is_logged(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    execution = make_execution(alpha, "RUNNING")
    ended = Finish(
        execution.id,
        execution.fencing_token or 0,
        1,
        Status.CANCELLED,
        AttemptOutcome.CANCELLED,
        reason="cancelled",
        finished_at=database_now(),
    )

    with on_commit(execute=True):
        assert transitions.finish([ended])

    [(level, event, found)] = lines()
    assert (level, event, found["reason"]) == ("INFO", "execution.cancelled", "cancelled")
    assert ids_of(execution).items() <= found.items()


def test_what_is_cancelled_before_it_starts_is_logged_in_one_line(
    alpha: Tenant, lines: Callable[[], list[Line]], on_commit: OnCommit
):
    made = [make_execution(alpha) for _ in range(25)]

    with on_commit(execute=True):
        transitions.cancel([(one.id, None) for one in made], "cancelled")
        cancel_execution(alpha.id, make_execution(alpha).id, actor=ACTOR)

    [many, single] = [found for _, event, found in lines() if event == "executions.cancelled"]
    assert (many["count"], many["reason"], len(many["execution_ids"])) == (25, "cancelled", 20)
    assert (single["count"], len(single["execution_ids"])) == (1, 1)


@pytest.mark.parametrize(
    ("over_ms", "status"), [(0, "SUCCEEDED"), (1, "SUCCEEDED"), (1, "FAILED"), (1, "RETRYING")]
)
def test_a_start_over_its_target_is_logged_once(
    alpha: Tenant,
    caplog: pytest.LogCaptureFixture,
    on_commit: OnCommit,
    over_ms: int,
    status: str,
):
    execution = make_execution(alpha)
    [row] = release()
    began = row.due_at + timedelta(milliseconds=START_TARGET_MS + over_ms)
    again = {"retry_in": 0.0} if status == "RETRYING" else {}

    with on_commit(execute=True):
        finish(row, status, started_at=began, finished_at=began, **again)
    if again:
        [row] = release()
        with on_commit(execute=True):
            finish(row, started_at=began, finished_at=began)

    expected = {
        **ids_of(execution),
        "attempt": 1,
        "delay_ms": START_TARGET_MS + over_ms,
        "worker": "worker-1",
    }
    assert lines_of(caplog, "execution.started_late") == [expected] * over_ms


@pytest.mark.parametrize(
    ("target", "delay_ms", "count"),
    [(60, 59_000, 0), (60, 61_000, 1), (2, 1_999, 0), (2, 3_000, 1)],
)
def test_the_target_of_its_task_decides_where_there_is_one(
    alpha: Tenant,
    caplog: pytest.LogCaptureFixture,
    on_commit: OnCommit,
    target: int,
    delay_ms: int,
    count: int,
):
    make_execution(alpha, body=once(targets={"start_within_seconds": target}))
    [row] = release()
    began = row.due_at + timedelta(milliseconds=delay_ms)

    with on_commit(execute=True):
        finish(row, started_at=began, finished_at=began)

    assert len(lines_of(caplog, "execution.started_late")) == count


def test_a_lost_run_that_is_tried_again_is_rescued_and_has_not_failed(
    alpha: Tenant, caplog: pytest.LogCaptureFixture, on_commit: OnCommit
):
    work(alpha, retry_policy={"max_attempts": 3})
    held = take_one(alpha)
    let_expire(held.execution_id)

    with on_commit(execute=True):
        assert rescue() == 1

    execution = Execution.objects.get(pk=held.execution_id)
    [line] = lines_of(caplog, "execution.rescued")
    assert {**ids_of(execution), "attempt": 1, "reason": "worker_lost"}.items() <= line.items()
    assert not lines_of(caplog, "execution.failed")


def test_the_lines_of_a_batch_are_written_together(
    alpha: Tenant, on_commit: OnCommit, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(3):
        make_execution(alpha, body=once(retry_policy=ONE_TRY))
    released = release()
    written: list[list[str]] = []
    monkeypatch.setattr(LineHandler, "write_all", lambda _, lines: written.append(lines))
    ends = [
        Finish(row.id, row.token, 1, Status.FAILED, AttemptOutcome.FAILED, worker="w")
        for row in released
    ]

    with on_commit(execute=True):
        transitions.finish(ends)

    [lines] = written
    assert len(lines) == 3
    assert all(f"execution_id={row.id}" in "".join(lines) for row in released)
