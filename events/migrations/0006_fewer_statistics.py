from __future__ import annotations

from django.db import migrations

from shared.statistics_kept import days_seldom_analyzed, seldom_analyzed, without_statistics


class Migration(migrations.Migration):
    """Keep statistics of the columns that statements ask for, and renew them less often."""

    dependencies = [("events", "0005_ends_of_chains")]

    operations = [
        without_statistics("events", ("subjects", "tasks", "data")),
        days_seldom_analyzed("events"),
        without_statistics("audit_entries", ("address", "trace_id", "before", "after", "hash")),
        seldom_analyzed("audit_entries"),
    ]
