# One index finds the tasks of a tenant, in lists and elsewhere, instead of two.

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import ExpressionWrapper, F, Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0020_cursors_apart"),
    ]

    operations = [
        # Building an index takes as long as the table is large, and waits for older transactions.
        migrations.RunSQL(
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
            ["RESET statement_timeout", "RESET lock_timeout"],
        ),
        # A build that was cut off leaves an index that nothing uses.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS tasks_by_tenant_idx", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="task",
            index=models.Index(
                F("tenant"),
                ExpressionWrapper(Q(deleted_at__isnull=True), models.BooleanField()),
                F("created_at").desc(),
                F("id").desc(),
                include=["type", "status", "deleted_at"],
                name="tasks_by_tenant_idx",
            ),
        ),
        RemoveIndexConcurrently(model_name="task", name="tasks_listed_idx"),
        migrations.AlterField(
            model_name="task",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.RunSQL(
            ["RESET statement_timeout", "RESET lock_timeout"],
            ["SET statement_timeout = 0", "SET lock_timeout = 0"],
        ),
    ]
