# Tasks of an owner are found through an index that only tasks with an owner are in.

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0016_owner_of_a_task"),
    ]

    operations = [
        # Building an index takes as long as the table is large, and waits for older transactions.
        migrations.RunSQL(
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
            ["RESET statement_timeout", "RESET lock_timeout"],
        ),
        # A build that was cut off leaves an index that nothing uses.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS tasks_of_owner_idx", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="task",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True), ("owner__gt", "")),
                fields=["tenant", "owner", "-created_at", "-id"],
                name="tasks_of_owner_idx",
            ),
        ),
        migrations.RunSQL(
            ["RESET statement_timeout", "RESET lock_timeout"],
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
        ),
    ]
