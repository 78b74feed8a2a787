# The index of lists holds what they are filtered by, so that counting them reads no rows.

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0008_one_index_of_revisions"),
    ]

    operations = [
        # Building an index takes as long as the table is large, and waits for older transactions.
        migrations.RunSQL(
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
            ["RESET statement_timeout", "RESET lock_timeout"],
        ),
        # A build that was cut off leaves an index that nothing uses.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS tasks_listed_idx", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="task",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True)),
                fields=["tenant", "-created_at", "-id"],
                include=["type", "status"],
                name="tasks_listed_idx",
            ),
        ),
        RemoveIndexConcurrently(model_name="task", name="tasks_of_tenant_idx"),
        migrations.RunSQL(
            ["RESET statement_timeout", "RESET lock_timeout"],
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
        ),
    ]
