# The priority of an execution counts within its band, too.

from __future__ import annotations

from pathlib import Path

from django.db import migrations, models


def _statements(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


class Migration(migrations.Migration):
    dependencies = [("executions", "0015_queue_and_history")]

    operations = [
        # Both ways may take longer than a statement of the product.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.RunSQL(
            _statements("0016_priority.sql"),
            _statements("0016_priority.down.sql"),
            state_operations=[
                migrations.AddField(
                    "execution", "priority", models.SmallIntegerField(default=5, db_default=5)
                ),
                migrations.AlterField("execution", "band", models.SmallIntegerField(null=True)),
            ],
        ),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
    ]
