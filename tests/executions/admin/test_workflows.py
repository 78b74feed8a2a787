"""Runs of workflows in the admin."""

from __future__ import annotations

import pytest

from executions.models import EndedWorkflowRun, WorkflowRun, WorkflowStep
from tests.factories import make_tenant
from tests.support.admin import make_admin, text_of
from tests.support.workflows import begin_run, calls, make_workflow, work

pytestmark = pytest.mark.django_db


def test_runs_and_their_steps_are_listed():
    flow = make_workflow(make_tenant(), [calls("a")])
    ended = begin_run(flow)
    work(ended)
    live = begin_run(flow)
    browser = make_admin()

    runs, takes, steps = (
        text_of(browser.list(model)) for model in (WorkflowRun, EndedWorkflowRun, WorkflowStep)
    )

    assert str(live) in runs
    assert str(ended) not in runs
    assert str(ended) in takes
    assert str(ended) in steps
