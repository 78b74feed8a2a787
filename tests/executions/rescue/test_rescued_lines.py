"""Each execution that rescue takes back has one line in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from executions.models import Execution
from executions.rescue.stage import Rescuer
from tenants.models import Tenant
from tests.factories import WORKER, make_execution
from tests.support.beats import silence as silent
from tests.support.log_lines import lines_of
from tests.support.rescuing import expire, run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("state", "attempt", "reason", "worker"),
    [("QUEUED", 1, "never_started", ""), ("RUNNING", 1, "worker_lost", WORKER)],
)
def test_each_execution_that_comes_back_has_a_line(
    alpha: Tenant,
    rescuer: Rescuer,
    caplog: pytest.LogCaptureFixture,
    on_commit: Any,
    state: str,
    attempt: int,
    reason: str,
    worker: str,
):
    execution = make_execution(alpha, state)
    expire(execution)
    silent(WORKER, 60)

    with on_commit(execute=True):
        assert run(rescuer) == 1

    assert lines_of(caplog, "execution.rescued") == [
        {
            "execution_id": str(execution.id),
            "task_id": str(execution.task_id),
            "tenant_id": str(alpha.id),
            "trace_id": execution.id.hex,
            "attempt": attempt,
            "reason": reason,
            "worker": worker,
        }
    ]


def test_what_is_given_up_or_stays_has_no_line_of_a_rescue(
    alpha: Tenant, rescuer: Rescuer, caplog: pytest.LogCaptureFixture, on_commit: Any
):
    make_execution(alpha, "QUEUED")
    make_execution(alpha, "RUNNING")
    Execution.objects.filter(status="RUNNING").update(attempt=F("max_attempts"))
    silent(WORKER, 60)
    Execution.objects.filter(status="QUEUED").update(
        queued_at=F("queued_at") + timedelta(seconds=600)
    )

    with on_commit(execute=True):
        assert run(rescuer) == 1

    assert not lines_of(caplog, "execution.rescued")
    assert len(lines_of(caplog, "execution.failed")) == 1
