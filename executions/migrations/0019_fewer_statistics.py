from __future__ import annotations

from django.db import migrations

from shared.statistics_kept import days_seldom_analyzed, without_statistics


class Migration(migrations.Migration):
    """Keep statistics of the columns that statements ask for, and renew them less often.

    Of what is open, places are swept when 50,000 are free: each sweep reads all its indexes.
    """

    dependencies = [("executions", "0018_room_for_renewals")]

    operations = [
        without_statistics(
            "executions",
            (
                "queued_at",
                "max_attempts",
                "lost_count",
                "timeout_seconds",
                "fencing_token",
                "incarnation",
                "sealed_payload",
                "sealed_progress",
                "sealed_result",
                "parent_id",
                "trace_context",
                "span_last",
                "band",
            ),
        ),
        without_statistics(
            "attempts",
            (
                "number",
                "fencing_token",
                "worker",
                "due_at",
                "queued_at",
                "outcome",
                "error_code",
                "error_message",
                "response_status",
                "timings",
                "sealed_response",
            ),
        ),
        days_seldom_analyzed("ended_executions"),
        days_seldom_analyzed("attempts"),
        migrations.RunSQL(
            "ALTER TABLE open_executions SET (autovacuum_vacuum_threshold = 50000)",
            "ALTER TABLE open_executions SET (autovacuum_vacuum_threshold = 20000)",
        ),
    ]
