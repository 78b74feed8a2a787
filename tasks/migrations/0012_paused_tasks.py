# Paused tasks are counted and listed by an index of their own.

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0011_calendar_last_import"),
    ]

    operations = [
        # Building an index takes as long as the table is large, and waits for older transactions.
        migrations.RunSQL(
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
            ["RESET statement_timeout", "RESET lock_timeout"],
        ),
        # A build that was cut off leaves an index that nothing uses.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS tasks_paused_idx", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="task",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True), ("status", "PAUSED")),
                fields=["tenant", "-created_at", "-id"],
                name="tasks_paused_idx",
            ),
        ),
        migrations.RunSQL(
            ["RESET statement_timeout", "RESET lock_timeout"],
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
        ),
    ]
