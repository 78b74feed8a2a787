from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Find the definitions that have targets. No definition has any yet: the index is empty."""

    atomic = False
    dependencies = [("tasks", "0032_concurrency_keys")]

    operations = [
        AddIndexConcurrently(
            "taskrevision",
            models.Index(
                fields=["task", "version"],
                name="task_revisions_targets_idx",
                condition=models.Q(definition__has_key="targets"),
            ),
        ),
    ]
