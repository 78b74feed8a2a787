from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Vacuum cursors after 50,000 changes, and analyze them after 5,000 and a half.

    By PostgreSQL's own shares a thousand cursors a second were vacuumed and analyzed every five
    seconds. Beside a transaction that stays open each of these passes reads every dead version and
    removes none.
    """

    dependencies = [("tasks", "0025_cursors_of_one_tenant")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE task_cursors SET (autovacuum_vacuum_threshold = 50000,"
            " autovacuum_analyze_threshold = 5000)",
            "ALTER TABLE task_cursors RESET (autovacuum_vacuum_threshold,"
            " autovacuum_analyze_threshold)",
        ),
    ]
