"""What the role of the loops may do: with each table, and which functions of the owner's it calls.

The loops are the processes that work for all tenants: schedulers, recorders, the system worker and
the workers of handlers. A table without an entry is closed to them. Rights are written as one
letter each: select, insert, update, delete.
"""

from __future__ import annotations

from operations.database_roles.grants import LETTERS

_READ = "S"
_CHANGED = "SU"
_KEPT = "SIU"
_ALL = "SIUD"

#: Table -> letters of rights.
GRANTS: dict[str, str] = {
    # Celery beat keeps the times of housekeeping.
    "django_celery_beat_clockedschedule": _KEPT,
    "django_celery_beat_crontabschedule": _KEPT,
    "django_celery_beat_intervalschedule": _KEPT,
    "django_celery_beat_periodictask": _KEPT,
    "django_celery_beat_periodictasks": _KEPT,
    "django_celery_beat_solarschedule": _KEPT,
    "django_migrations": _READ,
    # An erasure blanks the names of erased objects.
    "django_admin_log": _CHANGED,
    # Members get messages, and a task's owner may be a key; see COLUMNS, too.
    "api_keys": "",
    "auth_user": "",
    "memberships": _READ,
    "invitations": _READ,
    "notification_preferences": _READ,
    "push_subscriptions": "SUD",
    # Of the installation.
    "event_cursors": _KEPT,
    "partition_leases": _CHANGED,
    "scheduler_nodes": _ALL,
    "unowned_stretches": _ALL,
    "zone_rules": _KEPT,
    # The audit is appended to; its chains replace their ends.
    "audit_chains": "SID",
    "audit_entries": "SI",
    # Statistics and usage.
    "metric_totals": _ALL,
    "minute_stats": _ALL,
    "objective_counts": _ALL,
    "objective_hours": _ALL,
    "target_days": _ALL,
    "share_minutes": _ALL,
    "usage_days": _ALL,
    "worker_hours": _ALL,
    "worker_minutes": _ALL,
    # Of tenants.
    "alert_channels": _READ,
    "alert_deliveries": _ALL,
    "alert_mutes": "SD",
    "alert_rule_channels": _READ,
    "alert_rule_minutes": _ALL,
    "alert_rules": _READ,
    "alert_tasks": _ALL,
    "alerts": _ALL,
    "maintenance_windows": _READ,
    "attempts": _ALL,
    "bulk_job_items": _KEPT,
    "bulk_jobs": _CHANGED,
    "calendars": _CHANGED,
    "data_keys": _READ,
    "dead_letters": _ALL,
    "destinations": _READ,
    "ended_executions": _ALL,
    "ended_workflow_runs": _ALL,
    "erasures": _CHANGED,
    "event_subscriptions": _CHANGED,
    "events": _KEPT,
    # Rows are locked by this name; they are changed by those of its parts.
    "executions": _CHANGED,
    "idempotency_records": "SUD",
    "named_secrets": _READ,
    "open_executions": _ALL,
    "pauses": _KEPT,
    "pools": _READ,
    "resealings": _CHANGED,
    "secret_uses": _ALL,
    "signing_secrets": _READ,
    "task_budgets": _ALL,
    "task_cursors": _ALL,
    "task_dependencies": _ALL,
    "task_revisions": _KEPT,
    "tasks": _KEPT,
    "tenants": _CHANGED,
    "workflow_fans": _ALL,
    "workflow_inbox": _ALL,
    "workflow_retries": _ALL,
    "workflow_runs": _ALL,
    "workflow_signals": _ALL,
    "workflow_steps": _ALL,
    "workflow_waits": _ALL,
    "zone_moves": _ALL,
}
#: What the loops read of accounts: everything but the hash of the password.
_OF_ACCOUNTS = (
    "date_joined email first_name id is_active is_staff is_superuser last_login last_name username"
)
#: Rights on single columns: table, column, right. Secrets are sealed anew, a channel gets its last
#: result, and an invitation its token; what they are for, and for whom, does not change. Without a
#: right to change a column no alert rule could be locked while it judges, and no maintenance window
#: while it holds.
COLUMNS = (
    *(
        ("alert_channels", column, "UPDATE")
        for column in ("error", "failed_at", "last_sent_at", "sealed_url")
    ),
    ("alert_rules", "version", "UPDATE"),
    ("maintenance_windows", "name", "UPDATE"),
    *(("api_keys", column, "SELECT") for column in ("name", "revoked_at", "tenant_id")),
    *(("auth_user", column, "SELECT") for column in _OF_ACCOUNTS.split()),
    *(("invitations", column, "UPDATE") for column in ("mail_error", "sent_at", "token_hash")),
    ("named_secrets", "sealed", "UPDATE"),
    ("signing_secrets", "sealed", "UPDATE"),
)
#: Tables that the loops need not even read: groups, sessions, what people sign in with, views and
#: feeds.
CLOSED = frozenset(
    {
        "auth_group",
        "auth_group_permissions",
        "auth_permission",
        "auth_user_groups",
        "auth_user_user_permissions",
        "calendar_feeds",
        "django_content_type",
        "django_session",
        "identities",
        "recovery_codes",
        "saved_views",
        "second_factors",
        "sign_ins",
    }
)
#: Functions that run with the owner's rights and that the loops alone may call.
FUNCTIONS = (
    "day_has_old_reader(text, double precision)",
    "drop_left_day(text, date, bigint)",
    "forget_audit_entries(uuid, bigint)",
    "keep_day(text, date, date)",
    "let_day_go(text, date)",
    "make_day(text, date)",
    "open_left_day(text, date, bigint)",
    "take_day_marks_back()",
)


def loop_rights_on(table: str) -> frozenset[str]:
    """Return the rights of the loops' role on a table, as PostgreSQL names them."""
    return frozenset(LETTERS[letter] for letter in GRANTS.get(table, ""))
