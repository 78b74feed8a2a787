from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Find audit entries of a tenant by their time, their actor and their action."""

    atomic = False
    dependencies = [("events", "0007_keyed_audit_chains")]

    operations = [
        AddIndexConcurrently(
            "auditentry", models.Index(fields=["tenant_id", "at"], name="audit_entries_at_idx")
        ),
        AddIndexConcurrently(
            "auditentry",
            models.Index(
                fields=["tenant_id", "actor", "sequence"], name="audit_entries_of_actor_idx"
            ),
        ),
        AddIndexConcurrently(
            "auditentry",
            models.Index(
                fields=["tenant_id", "action", "sequence"], name="audit_entries_action_idx"
            ),
        ),
    ]
