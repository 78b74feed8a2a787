from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution, WorkflowRun
from operations.workflows import finding
from shared.exceptions import NotFound
from shared.ids import first_id_at
from tests.factories import make_execution, make_task, once
from tests.support.workflows import begin_run, calls, make_workflow, work


def test_a_workflow_is_found_by_its_id_and_by_its_end(alpha):
    task = make_workflow(alpha, [calls("a")])

    assert finding.find_workflow(str(task.id)) == task
    assert finding.find_workflow(str(task.id)[-12:], "Alpha") == task


def test_a_plain_task_and_a_workflow_of_another_tenant_are_no_workflow(alpha, beta):
    plain, mine = make_task(alpha), make_workflow(alpha, [calls("a")])

    for text, tenant in ((str(plain.id), None), (str(mine.id), "Beta"), ("abc", None)):
        with pytest.raises(NotFound, match="no workflow"):
            finding.find_workflow(text, tenant)


def test_a_run_is_found_while_it_is_open_and_when_it_has_ended(alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))

    assert finding.find_run(str(run)[-12:]).id == run
    work(run)
    assert finding.find_run(str(run)[-12:], "Alpha").id == run
    assert finding.find_run(str(run)).id == run


def test_an_open_run_of_days_ago_is_found_by_the_end_of_its_id(alpha, monkeypatch):
    run = begin_run(make_workflow(alpha, [{"key": "ok", "kind": "approval"}]))
    later = database_now() + timedelta(days=9)
    monkeypatch.setattr(finding, "database_now", lambda: later)

    assert finding.find_run(str(run)[-12:]).id == run
    assert finding.find_run(str(run)[-12:], "Alpha").id == run
    assert first_id_at(later) > run


def test_a_step_and_another_execution_are_no_run(alpha, beta):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    step = Execution.objects.get(run_id=run).id
    plain = make_execution(alpha, "PENDING", once()).id

    for text, tenant in ((str(step), None), (str(plain), None), (str(run), "Beta"), ("7", None)):
        with pytest.raises(NotFound, match="no run"):
            finding.find_run(text, tenant)
    assert WorkflowRun.objects.count() == 1
