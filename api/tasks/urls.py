"""Routes of tasks under ``/v1/``; they live here because a change touches prepared executions."""

from __future__ import annotations

from django.urls import path

from api.explain import views as explain
from api.tasks import backfill_views as backfill
from api.tasks import bulk_views as bulk
from api.tasks import history_views as history
from api.tasks import import_views as importing
from api.tasks import occurrence_views as occurrences
from api.tasks import statistics_views as statistics
from api.tasks import test_views as tests
from api.tasks import verb_views as verbs
from api.tasks import views as tasks

urlpatterns = [
    path("tasks", tasks.TasksView.as_view(), name="tasks"),
    path("tasks/bulk", bulk.BulkCreateView.as_view(), name="tasks-bulk"),
    path("tasks/import", importing.ImportTasksView.as_view(), name="tasks-import"),
    path("tasks/test", tests.TestDefinitionView.as_view(), name="tasks-test"),
    path("tasks/<uuid:task_id>", tasks.TaskView.as_view(), name="task"),
    path("tasks/<uuid:task_id>/pause", verbs.PauseTaskView.as_view(), name="task-pause"),
    path("tasks/<uuid:task_id>/resume", verbs.ResumeTaskView.as_view(), name="task-resume"),
    path("tasks/<uuid:task_id>/cancel", verbs.CancelTaskView.as_view(), name="task-cancel"),
    path("tasks/<uuid:task_id>/run", verbs.RunTaskView.as_view(), name="task-run"),
    path("tasks/<uuid:task_id>/backfill", backfill.BackfillView.as_view(), name="task-backfill"),
    path("tasks/<uuid:task_id>/test", tests.TestTaskView.as_view(), name="task-test"),
    path(
        "tasks/<uuid:task_id>/executions",
        history.TaskExecutionsView.as_view(),
        name="task-executions",
    ),
    path(
        "tasks/<uuid:task_id>/occurrences",
        occurrences.OccurrencesView.as_view(),
        name="task-occurrences",
    ),
    path(
        "tasks/<uuid:task_id>/statistics",
        statistics.TaskStatisticsView.as_view(),
        name="task-statistics",
    ),
    path(
        "tasks/<uuid:task_id>/calendar",
        statistics.TaskCalendarView.as_view(),
        name="task-calendar",
    ),
    path("tasks/<uuid:task_id>/explain", explain.ExplainTaskView.as_view(), name="task-explain"),
    path(
        "tasks/<uuid:task_id>/revisions",
        history.TaskRevisionsView.as_view(),
        name="task-revisions",
    ),
    path("tasks/<uuid:task_id>/rollback", history.RollbackTaskView.as_view(), name="task-rollback"),
    path("tasks/<uuid:task_id>/clone", history.CloneTaskView.as_view(), name="task-clone"),
]
