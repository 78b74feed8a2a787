from __future__ import annotations

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models

_FOLDER = Path(__file__).parent


class Migration(migrations.Migration):
    """Let an event name a batch of executions instead of one subject."""

    dependencies = [("events", "0003_event_cursors")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    (_FOLDER / "0004_event_batches.sql").read_text(encoding="utf-8"),
                    (_FOLDER / "0004_event_batches.down.sql").read_text(encoding="utf-8"),
                ),
            ],
            state_operations=[
                migrations.AlterField("event", "subject_id", models.UUIDField(null=True)),
                migrations.AddField(
                    "event",
                    "subjects",
                    django.contrib.postgres.fields.ArrayField(models.UUIDField(), null=True),
                ),
                migrations.AddField(
                    "event",
                    "tasks",
                    django.contrib.postgres.fields.ArrayField(models.UUIDField(), null=True),
                ),
            ],
        ),
    ]
