from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Index the marks of steps that are to be taken back, which a scheduler reads each second."""

    dependencies = [("executions", "0022_workflows")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX workflow_waits_marked_idx ON workflow_waits (partition)"
            " WHERE kind IN ('late', 'unwanted')",
            "DROP INDEX workflow_waits_marked_idx",
        ),
    ]
