from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep with each attempt when it was handed out; its execution knows only the last time."""

    dependencies = [("executions", "0013_unowned_stretches")]

    operations = [
        migrations.AddField("attempt", "queued_at", models.DateTimeField(null=True)),
    ]
