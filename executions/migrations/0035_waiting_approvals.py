from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Find what waits for an approval, the longest first, among all that steps wait for."""

    atomic = False
    dependencies = [("executions", "0034_objectives")]

    operations = [
        # A build that was cut off leaves an index that serves nothing.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS workflow_waits_approvals_idx",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY workflow_waits_approvals_idx"
            " ON workflow_waits (began_at) WHERE kind = 'approval'",
            "DROP INDEX CONCURRENTLY workflow_waits_approvals_idx",
        ),
    ]
