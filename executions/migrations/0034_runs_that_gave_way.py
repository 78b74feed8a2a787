from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Mark runs that had their place at the gate and gave it away: a column that is mostly null."""

    dependencies = [("executions", "0033_day_functions")]

    operations = [
        migrations.AddField("execution", "gave_way", models.BooleanField(null=True)),
    ]
