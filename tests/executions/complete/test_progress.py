from __future__ import annotations

from typing import Any

import pytest

from executions.complete import progress
from executions.complete.outcome_reports import Progress
from executions.models import Execution
from executions.payloads import progress_of
from shared.encryption import open_json, seal_json
from shared.sealing_contexts import progress_context
from tenants.models import Tenant
from tests.factories import finish, make_execution, release, start

pytestmark = pytest.mark.django_db


def said(row: Any, value: Any, token: int | None = None) -> Progress:
    return Progress(
        row.id, token or row.token, seal_json(value, progress_context(row.tenant_id, row.id))
    )


def test_the_last_progress_of_a_running_execution_is_kept(alpha: Tenant):
    execution = make_execution(alpha)
    (row,) = release()
    start([row])

    assert progress.note([said(row, 1), said(row, {"row": 2})]) == [execution.id]

    execution.refresh_from_db()
    assert progress_of(execution) == {"row": 2}
    assert execution.status == "RUNNING"


def test_progress_may_come_before_the_start_is_recorded(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()

    assert progress.note([said(row, 1)]) == [row.id]


def test_progress_under_a_stale_token_changes_nothing(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()
    start([row])

    assert progress.note([said(row, 1, token=row.token + 1)]) == []
    finish(row)
    assert progress.note([said(row, 1)]) == []

    assert Execution.objects.get().sealed_progress is None


def test_the_next_attempt_is_given_the_progress_of_the_last(alpha: Tenant):
    make_execution(alpha)
    (row,) = release()
    start([row])
    progress.note([said(row, "half")])
    finish(row, "RETRYING", retry_in=0.0)

    (again,) = release()

    assert (
        open_json(bytes(again.sealed_progress or b""), progress_context(row.tenant_id, row.id))
        == "half"
    )


def test_nothing_said_is_nothing_asked(alpha: Tenant):
    assert progress.note([object()]) == []
