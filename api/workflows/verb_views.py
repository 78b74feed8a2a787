"""What workflows can do as tasks can, under ``/v1/workflows/{id}``: the views of tasks' verbs."""

from __future__ import annotations

from typing import Any

from api.explain.views import ExplainTaskView
from api.protocol.schema import list_answer
from api.tasks.backfill_views import BackfillView
from api.tasks.history_views import RollbackTaskView, TaskRevisionsView
from api.tasks.occurrence_views import OccurrencesView
from api.tasks.verb_views import CancelTaskView, PauseTaskView, ResumeTaskView
from api.workflows.answers import OneWorkflowView, for_workflows
from api.workflows.serializers import WorkflowRevisionSerializer, WorkflowSerializer
from insight.presentation.workflows import present_workflow_revision
from tasks.models import TaskRevision

_REVISIONS = list_answer("revisions", WorkflowRevisionSerializer, name="WorkflowRevisions")


@for_workflows(
    "post",
    "pause_workflow",
    """Pause: no run begins until the workflow resumes; runs that have begun continue.

    409 when the workflow has ended.
    """,
    responses=WorkflowSerializer,
)
class PauseWorkflowView(OneWorkflowView, PauseTaskView):
    """Pause a workflow."""


@for_workflows(
    "post",
    "resume_workflow",
    """Resume; `on_resume` of the pause decides how the instants within it run.

    `Idempotency-Key` is required where that is `run_once` or `replay`: both make runs.
    """,
    responses=WorkflowSerializer,
)
class ResumeWorkflowView(OneWorkflowView, ResumeTaskView):
    """Resume a workflow."""


@for_workflows(
    "post",
    "cancel_workflow",
    """Stop future runs and cancel those that have not begun; runs that have begun continue.

    409 when the workflow has ended by itself.
    """,
    responses=WorkflowSerializer,
)
class CancelWorkflowView(OneWorkflowView, CancelTaskView):
    """Cancel a workflow."""


@for_workflows(
    "get",
    "list_workflow_revisions",
    "List a workflow's versions, newest first, each with who made it and its definition.",
    responses=_REVISIONS,
)
class WorkflowRevisionsView(OneWorkflowView, TaskRevisionsView):
    """A workflow's versions."""

    def present(self, revision: TaskRevision) -> dict[str, Any]:
        """Return a version as the workflow's own call shows it."""
        return present_workflow_revision(revision, self.current)


@for_workflows(
    "post",
    "rollback_workflow",
    """Give a workflow the definition of an earlier version again, as a new version.

    Runs that have begun continue with the version that they have.
    """,
    responses=WorkflowSerializer,
)
class RollbackWorkflowView(OneWorkflowView, RollbackTaskView):
    """Bring an earlier version of a workflow back."""


@for_workflows(
    "get",
    "list_workflow_occurrences",
    """List every expected instant of a workflow, past and future, with its outcome or the reason.

    An instant without a row yet is EXPECTED. A cursor continues its own range and ignores `from`
    and `to`.
    """,
)
class WorkflowOccurrencesView(OneWorkflowView, OccurrencesView):
    """Every expected instant of a workflow in a range."""


@for_workflows(
    "get",
    "explain_workflow",
    """Explain an instant of a workflow: every check in order, with evidence and what can be done.

    Works for instants that ran, that wait, that lie ahead, and that were never expected.
    """,
)
class ExplainWorkflowView(OneWorkflowView, ExplainTaskView):
    """Why an instant of a workflow ran, did not run, or what it waits for."""


@for_workflows(
    "post",
    "backfill_workflow",
    """Run every instant of the workflow's schedule from `start` to `end`, both included, again.

    The answer is a bulk job; `dry_run` only plans (200). The current schedule counts, with its
    calendars; `max_occurrences` does not bound it. At most 100,000 instants (400 `too_many`), at
    least one (400 `nothing_matches`). 409 `task_cancelled`, or `task_paused` while a standing pause
    holds the workflow.
    """,
)
class BackfillWorkflowView(OneWorkflowView, BackfillView):
    """Run past instants of a workflow again."""
