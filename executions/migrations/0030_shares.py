"""Find due work by tenant, and keep what the shares of tenants were."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Index the waiting work by pool and tenant; make the table of minutes.

    Work for pull workers has such an index already.
    """

    dependencies = [("executions", "0029_concurrency_keys")]

    operations = [
        # Writes to the open executions wait for it: about a second for a million of them.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.RunSQL(
            "CREATE INDEX open_executions_flow_idx"
            " ON open_executions (pool, tenant_id, priority, due_at)"
            " WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked"
            " AND pool NOT LIKE 'pull.%'",
            "DROP INDEX open_executions_flow_idx",
        ),
        migrations.CreateModel(
            name="ShareMinute",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("minute", models.DateTimeField()),
                ("pool", models.CharField(max_length=63)),
                ("tenant_id", models.UUIDField()),
                ("due", models.FloatField()),
                ("received", models.BigIntegerField()),
                ("oldest_wait", models.FloatField()),
            ],
            options={
                "db_table": "share_minutes",
                "indexes": [
                    models.Index(fields=["tenant_id", "-minute"], name="share_minutes_idx")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("minute", "pool", "tenant_id"), name="share_minute_is_one_row"
                    )
                ],
            },
        ),
    ]
