from __future__ import annotations

from django.db import migrations, models

_FORWARDS = """
CREATE TRIGGER audit_entries_are_not_truncated
    BEFORE TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit_entries();
CREATE TRIGGER audit_chains_are_not_truncated
    BEFORE TRUNCATE ON audit_chains
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit_entries();
"""
_BACKWARDS = """
DROP TRIGGER audit_entries_are_not_truncated ON audit_entries;
DROP TRIGGER audit_chains_are_not_truncated ON audit_chains;
"""


class Migration(migrations.Migration):
    """Name the key of each audit entry, and refuse TRUNCATE of the audit log."""

    dependencies = [("events", "0006_fewer_statistics")]

    operations = [
        migrations.AddField(
            "auditentry", "key_id", models.CharField(max_length=16, default="", db_default="")
        ),
        migrations.RunSQL(_FORWARDS, _BACKWARDS),
    ]
