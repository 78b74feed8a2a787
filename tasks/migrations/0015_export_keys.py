# Tasks that were created from an export know its key, so that creating again makes nothing twice.

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0014_trace_context"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="export_key",
            field=models.UUIDField(null=True),
        ),
        # Building an index takes as long as the table is large, and waits for older transactions.
        migrations.RunSQL(
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
            ["RESET statement_timeout", "RESET lock_timeout"],
        ),
        # A build that was cut off leaves an index that nothing uses.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS tasks_export_key_idx", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="task",
            index=models.Index(
                condition=models.Q(("export_key__isnull", False)),
                fields=["tenant", "export_key"],
                name="tasks_export_key_idx",
            ),
        ),
        migrations.RunSQL(
            ["RESET statement_timeout", "RESET lock_timeout"],
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
        ),
    ]
