"""Routes of executions and dead letters under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.dead_letters import views as letters
from api.executions import callback_views as callbacks
from api.executions import log_views as logs
from api.executions import views as executions
from api.explain import views as explain

urlpatterns = [
    path("executions", executions.ExecutionsView.as_view(), name="executions"),
    path("executions/<uuid:execution_id>", executions.ExecutionView.as_view(), name="execution"),
    path(
        "executions/<uuid:execution_id>/cancel",
        executions.CancelExecutionView.as_view(),
        name="execution-cancel",
    ),
    path(
        "executions/<uuid:execution_id>/retry",
        executions.RetryExecutionView.as_view(),
        name="execution-retry",
    ),
    path(
        "executions/<uuid:execution_id>/explain",
        explain.ExplainExecutionView.as_view(),
        name="execution-explain",
    ),
    path(
        "executions/<uuid:execution_id>/heartbeat",
        callbacks.HeartbeatView.as_view(),
        name="execution-heartbeat",
    ),
    path(
        "executions/<uuid:execution_id>/complete",
        callbacks.CompleteView.as_view(),
        name="execution-complete",
    ),
    path(
        "executions/<uuid:execution_id>/fail",
        callbacks.FailView.as_view(),
        name="execution-fail",
    ),
    path(
        "executions/<uuid:execution_id>/release",
        callbacks.ReleaseView.as_view(),
        name="execution-release",
    ),
    path(
        "executions/<uuid:execution_id>/log",
        logs.ExecutionLogView.as_view(),
        name="execution-log",
    ),
    path("dlq", letters.DeadLettersView.as_view(), name="dead-letters"),
    path("dlq/<uuid:letter_id>", letters.DeadLetterView.as_view(), name="dead-letter"),
    path(
        "dlq/<uuid:letter_id>/retry",
        letters.RetryDeadLetterView.as_view(),
        name="dead-letter-retry",
    ),
    path(
        "dlq/<uuid:letter_id>/resolve",
        letters.ResolveDeadLetterView.as_view(),
        name="dead-letter-resolve",
    ),
    path(
        "dlq/<uuid:letter_id>/archive",
        letters.ArchiveDeadLetterView.as_view(),
        name="dead-letter-archive",
    ),
]
