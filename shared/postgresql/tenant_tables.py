"""Which tables belong to tenants, and whether a statement names one of them.

By the text alone, before it is sent: row security returns no rows to a session without a tenant,
and an empty list would hide the mistake.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from django.apps import apps

#: Tables of tenants that have no model.
WITHOUT_MODEL = (
    "ended_executions",
    "open_executions",
    "workflow_fans",
    "workflow_inbox",
    "workflow_retries",
    "workflow_signals",
    "workflow_waits",
)
#: Table -> its column, and the table that the column names a row of: rows that hang on a tenant
#: by their parent.
CHILDREN = {
    "alert_deliveries": ("alert_id", "alerts"),
    "alert_mutes": ("alert_id", "alerts"),
    "alert_rule_channels": ("channel_id", "alert_channels"),
    "alert_rule_minutes": ("rule_id", "alert_rules"),
    "alert_tasks": ("alert_id", "alerts"),
    "bulk_job_items": ("job_id", "bulk_jobs"),
    "notification_preferences": ("membership_id", "memberships"),
    "push_subscriptions": ("membership_id", "memberships"),
    "secret_uses": ("secret_id", "named_secrets"),
    "task_revisions": ("task_id", "tasks"),
    "workflow_fans": ("run_id", "workflow_runs"),
    "workflow_inbox": ("run_id", "workflow_runs"),
}
_KEPT_TEXTS = 2048
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")


@cache
def tenant_tables() -> frozenset[str]:
    """Return the names of all tables whose rows belong to a tenant."""
    found = {"tenants", *WITHOUT_MODEL, *CHILDREN}
    for model in apps.get_models():
        if any(field.column == "tenant_id" for field in model._meta.local_concrete_fields):
            found.add(model._meta.db_table)
    return frozenset(found)


@lru_cache(_KEPT_TEXTS)
def tenant_table_in(text: str) -> str:
    """Return a table of tenants that the statement names; an empty text where it names none."""
    found = _names().search(_NOISE.sub(" ", text))
    return found[0] if found else ""


@cache
def _names() -> re.Pattern[str]:
    names = "|".join(sorted(tenant_tables(), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)")
