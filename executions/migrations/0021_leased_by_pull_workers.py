from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Index what pull workers have leased, apart from what workers of Punctual have.

    Counts of pull work read every lease, and beside a transaction that stays open every lease of
    the past as well.
    """

    dependencies = [("executions", "0020_lease_of_a_node")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX open_executions_pull_leased_idx"
            " ON open_executions (tenant_id, pool, worker)"
            " WHERE status IN ('QUEUED', 'RUNNING') AND pool LIKE 'pull.%'",
            "DROP INDEX open_executions_pull_leased_idx",
        ),
    ]
