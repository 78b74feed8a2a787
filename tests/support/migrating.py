"""What migrations do to the ledger's tables, as the catalog tells it."""

from __future__ import annotations

from typing import Any

from django.db import connection

from shared.sql import json_value


def ledger() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        # The priority comes later, and so do the columns of steps, of keys and of what gave way.
        cursor.execute(
            "SELECT to_jsonb(e) - %s::text[] FROM executions e ORDER BY id",
            ["priority band run_id step item take concurrency_key key_place gave_way".split()],
        )
        return [json_value(row[0]) for row in cursor.fetchall()]


def indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()"
            " AND tablename IN ('executions', 'open_executions', 'ended_executions')"
        )
        return {row[0] for row in cursor.fetchall()}
