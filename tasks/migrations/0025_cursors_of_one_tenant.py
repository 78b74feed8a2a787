from __future__ import annotations

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Keep the index of a tenant's cursors to queries that name the tenant.

    PostgreSQL skips a first column that has few values: of an installation with one tenant this
    index served the scheduler's looks by partition and time, too, and badly: where statistics say
    that nothing is there, both cost the same, and this one leads through all partitions each time.
    """

    dependencies = [("tasks", "0024_fewer_statistics")]

    operations = [
        migrations.RemoveIndex(model_name="taskcursor", name="task_cursors_of_tenant_idx"),
        migrations.AddIndex(
            model_name="taskcursor",
            index=models.Index(
                fields=["tenant_id", "next_run_at", "task"],
                name="task_cursors_of_tenant_idx",
                condition=Q(held=False, next_run_at__isnull=False, tenant_id__isnull=False),
            ),
        ),
    ]
