from __future__ import annotations

from django.db import migrations, models

_WAITING = "open_executions (tenant_id, concurrency_key, due_at, task_id, id)"
_TAKEN = "open_executions (tenant_id, concurrency_key)"
_HELD = "CHECK (key_place IS NULL OR key_place > 0 OR held)"


class Migration(migrations.Migration):
    """Let an execution wait for its concurrency key: two columns, a check and two empty indexes."""

    dependencies = [("executions", "0028_limits_in_flight")]

    operations = [
        migrations.AddField(
            "execution",
            "concurrency_key",
            models.CharField(db_collation="C", max_length=200, null=True),
        ),
        migrations.AddField("execution", "key_place", models.SmallIntegerField(null=True)),
        migrations.RunSQL(
            f"ALTER TABLE open_executions ADD CONSTRAINT waits_for_its_key_on_hold {_HELD}",
            # Without the column nothing would give such work its place.
            "UPDATE open_executions SET held = gated WHERE key_place = 0;"
            " ALTER TABLE open_executions DROP CONSTRAINT waits_for_its_key_on_hold",
        ),
        migrations.RunSQL(
            f"CREATE INDEX open_executions_key_waiting_idx ON {_WAITING}"
            " WHERE key_place = 0 AND NOT gated",
            "DROP INDEX open_executions_key_waiting_idx",
        ),
        migrations.RunSQL(
            f"CREATE INDEX open_executions_key_taken_idx ON {_TAKEN} WHERE key_place > 0",
            "DROP INDEX open_executions_key_taken_idx",
        ),
    ]
