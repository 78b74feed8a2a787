from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Index what waits for a limit of its tenant, and the open runs of a tenant."""

    dependencies = [("executions", "0027_erasures")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX open_executions_over_limit_idx"
            " ON open_executions (tenant_id, ((pool = 'workflow')::int), due_at)"
            " WHERE status = 'PENDING' AND held AND reason = 'tenant_limit'",
            "DROP INDEX open_executions_over_limit_idx",
        ),
        migrations.RunSQL(
            "CREATE INDEX workflow_runs_of_tenant_idx ON workflow_runs (tenant_id)",
            "DROP INDEX workflow_runs_of_tenant_idx",
        ),
    ]
