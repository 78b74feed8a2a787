"""A tenant that is removed leaves nothing of its runs, whose waits would be due for ever."""

from __future__ import annotations

import pytest

from executions.models import WorkflowRun
from tests.factories import ACTOR, make_tenant
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflows import begin_run, calls, make_workflow
from workflows.removal import remove_of_tenant
from workflows.retry_requests import request_retry
from workflows.retrying import Retry
from workflows.signals import send_signal

pytestmark = pytest.mark.django_db
FLOW = [{"key": "ok", "kind": "approval", "timeout_seconds": 60}, calls("load", for_each=[1, 2])]


def test_what_open_runs_have_is_removed_and_that_of_other_tenants_stays():
    gone, stays = make_tenant("Gone"), make_tenant("Stays")
    begin_run(make_workflow(gone, FLOW))
    run = begin_run(make_workflow(gone, [calls("a")]))
    request_retry(gone.id, run, Retry(cancel_running=True), actor=ACTOR)
    assert {"workflow_retries", "workflow_waits"} <= set(tables_with_rows())
    send_signal(gone.id, "paid", "", None, actor=ACTOR)

    remove_of_tenant(gone.id)
    WorkflowRun.objects.filter(tenant_id=gone.id).delete()

    assert tables_with_rows() == []
    run = begin_run(make_workflow(stays, FLOW))
    remove_of_tenant(gone.id)
    assert WorkflowRun.objects.get().id == run
    assert {"workflow_waits", "workflow_fans"} <= set(tables_with_rows())
