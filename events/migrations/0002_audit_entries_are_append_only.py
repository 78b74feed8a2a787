from __future__ import annotations

from pathlib import Path

from django.db import migrations

_FOLDER = Path(__file__).parent


class Migration(migrations.Migration):
    """Refuse UPDATE and DELETE of audit entries in the database itself (F5)."""

    dependencies = [("events", "0001_initial")]

    operations = [
        migrations.RunSQL(
            (_FOLDER / "0002_audit_entries_are_append_only.sql").read_text(),
            (_FOLDER / "0002_audit_entries_are_append_only.down.sql").read_text(),
        )
    ]
