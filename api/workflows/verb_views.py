"""What workflows can do as tasks can, under ``/v1/workflows/{id}``: the views of tasks' verbs."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view

from api.explain.views import ExplainTaskView
from api.protocol.schema import list_answer
from api.tasks.backfill_views import BackfillView
from api.tasks.history_views import RollbackTaskView, TaskRevisionsView
from api.tasks.occurrence_views import OccurrencesView
from api.tasks.verb_views import CancelTaskView, PauseTaskView, ResumeTaskView
from api.workflows.answers import OneWorkflowView
from api.workflows.serializers import WorkflowRevisionSerializer, WorkflowSerializer
from insight.presentation.workflows import present_workflow_revision
from tasks.models import TaskRevision

_SHOWN = {"responses": WorkflowSerializer}


@extend_schema_view(post=extend_schema(operation_id="pause_workflow", **_SHOWN))
class PauseWorkflowView(OneWorkflowView, PauseTaskView):
    """Pause a workflow: no run begins; runs that have begun continue."""


@extend_schema_view(post=extend_schema(operation_id="resume_workflow", **_SHOWN))
class ResumeWorkflowView(OneWorkflowView, ResumeTaskView):
    """Resume a workflow."""


@extend_schema_view(post=extend_schema(operation_id="cancel_workflow", **_SHOWN))
class CancelWorkflowView(OneWorkflowView, CancelTaskView):
    """Cancel a workflow: no run begins any more; runs that have begun continue."""


@extend_schema_view(
    get=extend_schema(
        operation_id="list_workflow_revisions",
        responses=list_answer("revisions", WorkflowRevisionSerializer, name="WorkflowRevisions"),
    )
)
class WorkflowRevisionsView(OneWorkflowView, TaskRevisionsView):
    """A workflow's versions."""

    def present(self, revision: TaskRevision) -> dict[str, Any]:
        """Return a version as the workflow's own call shows it."""
        return present_workflow_revision(revision)


@extend_schema_view(post=extend_schema(operation_id="rollback_workflow", **_SHOWN))
class RollbackWorkflowView(OneWorkflowView, RollbackTaskView):
    """Bring an earlier version of a workflow back; open runs continue with theirs."""


@extend_schema_view(get=extend_schema(operation_id="list_workflow_occurrences"))
class WorkflowOccurrencesView(OneWorkflowView, OccurrencesView):
    """Every expected instant of a workflow in a range."""


@extend_schema_view(get=extend_schema(operation_id="explain_workflow"))
class ExplainWorkflowView(OneWorkflowView, ExplainTaskView):
    """Why an instant of a workflow ran, did not run, or what it waits for."""


@extend_schema_view(post=extend_schema(operation_id="backfill_workflow"))
class BackfillWorkflowView(OneWorkflowView, BackfillView):
    """Run past instants of a workflow again."""
