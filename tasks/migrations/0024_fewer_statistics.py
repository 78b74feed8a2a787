from __future__ import annotations

from django.db import migrations

from shared.statistics_kept import seldom_analyzed, without_statistics


class Migration(migrations.Migration):
    """Keep statistics of the columns that statements ask for, and renew them less often."""

    dependencies = [("tasks", "0023_limits_beside_tasks")]

    operations = [
        without_statistics(
            "tasks",
            (
                "version",
                "schedule",
                "max_attempts",
                "timeout_seconds",
                "trace_context",
                "pause_note",
                "on_resume",
                "resumed_at",
                "last_execution_id",
            ),
        ),
        without_statistics("task_revisions", ("definition", "sealed", "changed_by", "created_at")),
        without_statistics(
            "task_cursors",
            (
                "last_execution_id",
                "last_execution_status",
                "last_execution_at",
                "last_success_at",
                "replayed_until",
                "occurrence_count",
            ),
        ),
        *map(seldom_analyzed, ("tasks", "task_revisions", "task_cursors")),
    ]
