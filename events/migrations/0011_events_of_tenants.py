from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.backends.ddl_references import Statement

from shared.day_indexes import AddIndexDayByDay


class _InOrder(models.Index):
    """An index with the column ``xid``, which the model lacks: only SQL reads and writes it."""

    def create_sql(
        self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any
    ) -> Statement:
        return Statement(
            "CREATE INDEX %(name)s ON %(table)s (tenant_id, xid, id)", name="", table=""
        )


class Migration(migrations.Migration):
    """Find the events of one tenant in their order, without a look at those of others."""

    atomic = False
    dependencies = [("events", "0010_forget_audit_entries")]

    operations = [
        # Building an index takes as long as the table is large.
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                AddIndexDayByDay(
                    "event", _InOrder(fields=["tenant_id", "id"], name="events_of_tenant_idx")
                ),
            ],
        ),
    ]
