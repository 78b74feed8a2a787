"""What the role of the web process may do with each table: an allow-list.

A table without an entry is closed to the web process; a test names such a table. Rights are written
as one letter each: select, insert, update, delete.
"""

from __future__ import annotations

#: The letters of rights, and their names in PostgreSQL.
LETTERS = {"S": "SELECT", "I": "INSERT", "U": "UPDATE", "D": "DELETE"}

_READ = "S"
_ADDED = "SI"
_ALL = "SIUD"

#: Table -> letters of rights.
GRANTS: dict[str, str] = {
    # Accounts, sessions and Django's own.
    "auth_group": _ALL,
    "auth_group_permissions": _ALL,
    "auth_permission": _READ,
    "auth_user": _ALL,
    "auth_user_groups": _ALL,
    "auth_user_user_permissions": _ALL,
    "django_admin_log": "SID",
    "django_celery_beat_clockedschedule": _ALL,
    "django_celery_beat_crontabschedule": _ALL,
    "django_celery_beat_intervalschedule": _ALL,
    "django_celery_beat_periodictask": _ALL,
    "django_celery_beat_periodictasks": _ALL,
    "django_celery_beat_solarschedule": _ALL,
    "django_content_type": _READ,
    "django_migrations": _READ,
    "django_session": _ALL,
    "identities": _ALL,
    "recovery_codes": _ALL,
    "second_factors": _ALL,
    "sign_ins": _ALL,
    # Of the installation.
    "event_cursors": _READ,
    "partition_leases": _READ,
    "scheduler_nodes": _READ,
    "unowned_stretches": _READ,
    "zone_rules": _READ,
    # The audit is appended to; its chains replace their ends.
    "audit_chains": "SID",
    "audit_entries": _ADDED,
    # Kept by loops, or for ever.
    "erasures": "SIU",
    "metric_totals": _ADDED,
    "minute_stats": "SIU",
    "objective_counts": _ADDED,
    "objective_hours": _READ,
    "target_days": _READ,
    "share_minutes": _READ,
    "usage_days": _READ,
    "worker_hours": _READ,
    "worker_minutes": "SIU",
    # Of tenants.
    "alert_channels": _ALL,
    "alert_deliveries": _ALL,
    "alert_mutes": _ALL,
    "alert_rule_channels": _ALL,
    "alert_rule_minutes": _ALL,
    "alert_rules": _ALL,
    "alert_tasks": _ALL,
    "alerts": _ALL,
    "maintenance_windows": "SID",
    "api_keys": _ALL,
    "attempts": _ALL,
    "bulk_job_items": _ALL,
    "bulk_jobs": _ALL,
    "calendar_feeds": _ALL,
    "calendars": _ALL,
    "data_keys": _ALL,
    "dead_letters": _ALL,
    "destinations": _ALL,
    "ended_executions": _ALL,
    "ended_workflow_runs": _ALL,
    "event_subscriptions": _ALL,
    "events": _ADDED,
    "executions": _ALL,
    "idempotency_records": _ALL,
    "invitations": _ALL,
    "memberships": _ALL,
    "named_secrets": _ALL,
    "notification_preferences": _ALL,
    "open_executions": _ALL,
    "pauses": _ALL,
    "pools": _ALL,
    "push_subscriptions": _ALL,
    "resealings": _ALL,
    "saved_views": _ALL,
    "secret_uses": _ALL,
    "signing_secrets": _ALL,
    "task_budgets": _ALL,
    "task_cursors": _ALL,
    "task_dependencies": _ALL,
    "task_revisions": _ALL,
    "tasks": _ALL,
    "tenants": _ALL,
    "workflow_fans": _ALL,
    "workflow_inbox": _ALL,
    "workflow_retries": _ALL,
    "workflow_runs": _ALL,
    "workflow_signals": _ALL,
    "workflow_steps": _ALL,
    "workflow_waits": _ALL,
    "zone_moves": _ALL,
}


#: Functions with their owner's rights that the role of crossing tenants may call.
FUNCTIONS_ACROSS = ("oldest_snapshot_seconds",)


def rights_on(table: str) -> frozenset[str]:
    """Return the rights of the web's role on a table, as PostgreSQL names them."""
    return frozenset(LETTERS[letter] for letter in GRANTS.get(table, ""))
