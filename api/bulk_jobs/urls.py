"""Routes of bulk jobs under ``/v1/``, and of the calls that make one."""

from __future__ import annotations

from django.urls import path

from api.bulk_jobs import views as bulk

urlpatterns = [
    path("dlq/actions", bulk.DeadLetterActionsView.as_view(), name="dead-letter-actions"),
    path("tasks/actions", bulk.TaskActionsView.as_view(), name="task-actions"),
    path("executions/actions", bulk.ExecutionActionsView.as_view(), name="execution-actions"),
    path("executions/replay", bulk.ReplayView.as_view(), name="executions-replay"),
    path("bulk-jobs", bulk.BulkJobsView.as_view(), name="bulk-jobs"),
    path("bulk-jobs/<uuid:job_id>", bulk.BulkJobView.as_view(), name="bulk-job"),
    path(
        "bulk-jobs/<uuid:job_id>/cancel",
        bulk.CancelBulkJobView.as_view(),
        name="bulk-job-cancel",
    ),
]
