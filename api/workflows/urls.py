"""Routes of workflows and their runs under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.workflows import control_views as control
from api.workflows import run_views as runs
from api.workflows import verb_views as verbs
from api.workflows import views as workflows
from api.workflows.signal_views import SignalsView

_ONE = "workflows/<uuid:workflow_id>"
_RUN = "workflow-runs/<uuid:run_id>"
_STEP = f"{_RUN}/steps/<str:key>"

urlpatterns = [
    path("workflows", workflows.WorkflowsView.as_view(), name="workflows"),
    path(_ONE, workflows.WorkflowView.as_view(), name="workflow"),
    path(f"{_ONE}/pause", verbs.PauseWorkflowView.as_view(), name="workflow-pause"),
    path(f"{_ONE}/resume", verbs.ResumeWorkflowView.as_view(), name="workflow-resume"),
    path(f"{_ONE}/cancel", verbs.CancelWorkflowView.as_view(), name="workflow-cancel"),
    path(f"{_ONE}/revisions", verbs.WorkflowRevisionsView.as_view(), name="workflow-revisions"),
    path(f"{_ONE}/rollback", verbs.RollbackWorkflowView.as_view(), name="workflow-rollback"),
    path(
        f"{_ONE}/occurrences",
        verbs.WorkflowOccurrencesView.as_view(),
        name="workflow-occurrences",
    ),
    path(f"{_ONE}/explain", verbs.ExplainWorkflowView.as_view(), name="workflow-explain"),
    path(f"{_ONE}/backfill", verbs.BackfillWorkflowView.as_view(), name="workflow-backfill"),
    path(f"{_ONE}/runs", runs.WorkflowRunsView.as_view(), name="workflow-runs"),
    path(f"{_ONE}/status", runs.WorkflowStatusView.as_view(), name="workflow-status"),
    path(_RUN, runs.WorkflowRunView.as_view(), name="workflow-run"),
    path(f"{_RUN}/cancel", control.CancelRunView.as_view(), name="workflow-run-cancel"),
    path(f"{_RUN}/retry", control.RetryRunView.as_view(), name="workflow-run-retry"),
    path(f"{_RUN}/pause", control.PauseRunView.as_view(), name="workflow-run-pause"),
    path(f"{_RUN}/resume", control.ResumeRunView.as_view(), name="workflow-run-resume"),
    path(f"{_STEP}/items", runs.RunStepItemsView.as_view(), name="run-step-items"),
    path(f"{_STEP}/skip", control.SkipStepView.as_view(), name="run-step-skip"),
    path(f"{_STEP}/succeed", control.SucceedStepView.as_view(), name="run-step-succeed"),
    path("signals", SignalsView.as_view(), name="signals"),
    path(f"{_STEP}/approve", control.ApproveStepView.as_view(), name="run-step-approve"),
]
