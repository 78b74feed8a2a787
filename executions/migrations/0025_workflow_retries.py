"""The table of retries that wait for the end of their runs, and an index of paused runs."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    """Add a table, which the version before ignores, and an index of few rows."""

    dependencies = [("executions", "0024_ends_of_steps_and_runs")]

    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "0025_workflow_retries.sql").read_text(encoding="utf-8"),
            "DROP INDEX workflow_waits_pausing_idx; DROP TABLE workflow_retries",
        ),
    ]
