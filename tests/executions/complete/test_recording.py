from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError, transaction
from psycopg import errors

from executions import transitions
from executions.complete import recording
from executions.complete.outcome_reports import Release
from executions.complete.outcome_stream import SIDE_LIST
from executions.complete.recording import record_in_batches
from executions.models import Execution
from shared.ids import execution_id
from shared.redis_client import client
from shared.sql import rows
from tenants.models import Tenant
from tests.support.outcomes import NOW, finished

pytestmark = pytest.mark.django_db


def statuses() -> list[str]:
    return sorted(Execution.objects.values_list("status", flat=True))


def fails_once(monkeypatch: pytest.MonkeyPatch, cause: Exception) -> None:
    """Let the first statement that ends attempts fail as the database lets it fail."""
    real = transitions.finish
    failed: list[bool] = []

    def finish(finishes: Any) -> Any:
        if not failed:
            failed.append(True)
            raise OperationalError("failed") from cause
        return real(finishes)

    monkeypatch.setattr(transitions, "finish", finish)


@pytest.mark.parametrize("cause", [errors.LockNotAvailable(), errors.DeadlockDetected()])
def test_what_failed_for_a_lock_is_recorded_without_waiting(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, cause: Exception
):
    said = finished(alpha, 3)
    fails_once(monkeypatch, cause)

    result = record_in_batches(said)

    assert (result.done, result.refused, result.locked) == (3, 0, set())
    assert statuses() == ["SUCCEEDED"] * 3


def test_another_fault_of_the_database_is_the_callers(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    said = finished(alpha, 1)
    fails_once(monkeypatch, errors.AdminShutdown())

    with pytest.raises(OperationalError):
        record_in_batches(said)

    assert statuses() == ["QUEUED"]


def test_a_stale_outcome_is_counted_also_where_locks_are_not_waited_for(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    [said] = finished(alpha, 1)
    record_in_batches([said])
    fails_once(monkeypatch, errors.LockNotAvailable())

    result = record_in_batches([said])

    assert (result.done, result.refused, result.locked) == (0, 1, set())


def test_marks_are_settled_of_what_has_ended_and_is_recorded(alpha: Tenant):
    ended, released = finished(alpha, 2)

    result = record_in_batches([ended, Release(released.execution_id, released.token)])

    assert result.settled == [ended.token]
    assert recording.Recorded().settled == []


def test_an_outcome_whose_day_is_missing_is_read_again_and_not_set_aside(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    [said] = finished(alpha, 1)
    long_ago = execution_id(uuid4(), NOW.replace(year=2001))
    Execution.objects.filter(id=said.execution_id).update(id=long_ago)
    said = said._replace(execution_id=long_ago)

    with monkeypatch.context() as patched:
        # The day leaves after the look at it.
        patched.setattr(transitions, "ensure_days_of", lambda ids: None)
        with pytest.raises(IntegrityError, match="no partition"), transaction.atomic():
            record_in_batches([said])

    assert client().llen(SIDE_LIST) == 0
    assert record_in_batches([said]).done == 1
    assert statuses() == ["SUCCEEDED"]


def test_an_outcome_to_be_tried_again_ends_nothing_by_itself(alpha: Tenant):
    [said] = finished(alpha, 1)
    again = said._replace(status="RETRYING", outcome="FAILED")

    assert rows("complete/finish", transitions._columns([again])) == []
    assert statuses() == ["QUEUED"]
