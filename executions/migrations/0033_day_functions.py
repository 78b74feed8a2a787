"""The functions by which processes that own no table make days and let them go."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

_FOLDER = Path(__file__).parent


class Migration(migrations.Migration):
    """Add functions, which the version before ignores."""

    dependencies = [("executions", "0032_metric_totals")]

    operations = [
        migrations.RunSQL(
            (_FOLDER / "0033_day_functions.sql").read_text(encoding="utf-8"),
            (_FOLDER / "0033_day_functions.down.sql").read_text(encoding="utf-8"),
        ),
    ]
