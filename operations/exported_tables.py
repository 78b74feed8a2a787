"""Which tables the export of a tenant has, and why each other one is left out.

Every part has named columns: a new column is in no export until it is named here. Secrets are never
among them: no sealed value, no hash, and no address that is a right by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Plain:
    """A file whose rows are columns of a table, as they are stored."""

    name: str
    #: The model by its label, such as ``tenants.ApiKey``.
    model: str
    columns: str
    #: The field that names the tenant.
    tenant: str = "tenant_id"

    @property
    def table(self) -> str:
        """The table that the rows are read from."""
        table: str = apps.get_model(self.model)._meta.db_table
        return table

    def rows(self, tenant_id: UUID) -> Iterator[dict[str, Any]]:
        """Yield the tenant's rows."""
        found: Any = apps.get_model(self.model)._base_manager.filter(**{self.tenant: tenant_id})
        rows: Iterator[dict[str, Any]] = (
            found.order_by("pk").values(*self.columns.split()).iterator(_AT_ONCE)
        )
        return rows


#: The tenant's own row, with its settings and limits.
TENANT = (
    "id name created_at suspended_at version idempotency_required idempotency_seconds "
    "default_jitter_seconds second_factor_required provider_required unlimited tier quotas weight"
)
PLAIN = (
    Plain(
        "members", "tenants.Membership", "user__username user__email role sees_payloads created_at"
    ),
    Plain(
        "invitations",
        "tenants.Invitation",
        "id email role sees_payloads invited_by created_at expires_at sent_at accepted_at "
        "withdrawn_at",
    ),
    Plain(
        "api_keys",
        "tenants.ApiKey",
        "id name prefix scopes owner sees_payloads addresses created_at expires_at last_used_at "
        "last_used_address revoked_at replaced_by",
    ),
    Plain(
        "saved_views",
        "tenants.SavedView",
        "id member__user__username list name query is_default version created_at updated_at",
    ),
    Plain(
        "calendar_feeds",
        "tenants.CalendarFeed",
        "id member__user__username name filter timezone created_at last_read_at",
    ),
    Plain("signing_secrets", "tenants.SigningSecret", "id created_at expires_at"),
    Plain("data_keys", "tenants.DataKey", "id generation created_at replaced_at"),
    Plain(
        "calendars",
        "tasks.Calendar",
        "id name description weekend dates windows version created_at updated_at",
    ),
    Plain("secrets", "tasks.NamedSecret", "id name hosts commands version created_at written_at"),
    Plain("secret_uses", "tasks.SecretUse", "secret_id task_id", "secret__tenant_id"),
    Plain(
        "pauses",
        "tasks.Pause",
        "id scope value note on_resume until created_by created_at ended_by ended_at",
    ),
    Plain("budgets", "tasks.TaskBudget", "task_id unit per most used resets_at near exceeded"),
    Plain("dependencies", "tasks.TaskDependency", "prerequisite_id task_id on_failure"),
    Plain(
        "zone_moves",
        "tasks.ZoneMove",
        "id task_id zone from_release to_release moved moved_count noticed_at",
    ),
    Plain(
        "destinations",
        "executions.Destination",
        "id host max_in_flight rate_per_second breaker version created_at updated_at",
    ),
    Plain("pools", "executions.Pool", "id name paused max_in_flight version created_at updated_at"),
    Plain(
        "bulk_jobs",
        "executions.BulkJob",
        "id kind action name status reason total done_count skipped_count failed_count created_by "
        "address created_at started_at finished_at",
    ),
    Plain(
        "bulk_job_items",
        "executions.BulkJobItem",
        "job_id position item_id at outcome code message result_id",
        "job__tenant_id",
    ),
    Plain(
        "alerts",
        "notifications.Alert",
        "id kind error_signature destination cause task_id task_name execution_id attempt "
        "error_code error_message count task_count first_at last_at notice_number muted_until "
        "held_until "
        "rule_id subject urgent recovered_at flaps ends_at acknowledged_at acknowledged_by "
        "assignee__user__username closed_at created_at",
    ),
    Plain(
        "alert_rules",
        "notifications.AlertRule",
        "id name kind scope value threshold window_seconds urgent enabled built_in version "
        "created_at updated_at",
    ),
    Plain(
        "alert_rule_minutes",
        "notifications.RuleMinute",
        "rule_id minute ended failed",
        "rule__tenant_id",
    ),
    Plain(
        "maintenance_windows",
        "notifications.MaintenanceWindow",
        "id name scope value begins_at ends_at weekdays from_time to_time timezone created_by "
        "created_at",
    ),
    Plain("alert_tasks", "notifications.AlertTask", "alert_id task_id", "alert__tenant_id"),
    Plain(
        "alert_mutes",
        "notifications.AlertMute",
        "alert_id membership__user__username until",
        "alert__tenant_id",
    ),
    # Without the URL: it is enough to send to the channel.
    Plain(
        "alert_channels",
        "notifications.AlertChannel",
        "id name kind service host kinds version created_at updated_at last_sent_at failed_at "
        "error",
    ),
    Plain(
        "alert_rule_channels",
        "notifications.AlertRuleChannel",
        "channel_id rule_id",
        "channel__tenant_id",
    ),
    Plain(
        "alert_deliveries",
        "notifications.Delivery",
        "id alert_id membership__user__username alert_channel_id channel notice_number status "
        "reason error created_at sent_at",
        "alert__tenant_id",
    ),
    Plain(
        "notification_preferences",
        "notifications.NotificationPreference",
        "membership__user__username email_events push_events console_events email_address "
        "confirmed_email_address timezone quiet_from quiet_to quiet_except_final digest_minutes "
        "muted_until "
        "muted_task_ids updated_at",
        "membership__tenant_id",
    ),
    # Without the endpoint, which is sealed: it is enough to push to the browser.
    Plain(
        "push_subscriptions",
        "notifications.PushSubscription",
        "id membership__user__username user_agent created_at last_used_at failed_at",
        "membership__tenant_id",
    ),
    # Without the sealed URL, as targets.
    Plain(
        "event_subscriptions",
        "notifications.EventSubscription",
        "id origin types filter status paused_reason version read_at next_attempt_at "
        "attempt_count failing_since answered_at last_status last_error created_at updated_at",
    ),
    Plain(
        "usage",
        "executions.UsageDay",
        "day started succeeded failed cancelled attempts execution_ms recorded_bytes "
        "runs_succeeded runs_failed",
    ),
    Plain(
        "audit",
        "events.AuditEntry",
        "sequence at actor address trace_id action object_kind object_id before after",
    ),
)

#: Tables whose rows are read by functions of :mod:`operations.tenant_export`.
READ_APART = {
    "tenants": "tenant",
    "tasks": "tasks",
    "task_revisions": "task_versions",
    "executions": "executions",
    "attempts": "attempts",
    "dead_letters": "dead_letters",
    "workflow_runs": "workflow_runs",
    "ended_workflow_runs": "workflow_runs",
    "workflow_steps": "workflow_steps",
    "erasures": "erasures",
}

#: Tables of tenants that no export has, and why.
LEFT_OUT = {
    "audit_chains": "The end of the audit log, which proves it here: the log itself is exported.",
    "events": "Names and ids of changes for consumers, kept for days: the rows are exported.",
    "idempotency_records": "Answers to calls, sealed and kept for repeats of the calls only.",
    "minute_stats": "Counts by the minute, which lists and pictures read: usage has the days.",
    "objective_counts": "Counts for the objectives of the installation, kept for 32 days.",
    "objective_hours": "Counts for the objectives of the installation, kept for 32 days.",
    "target_days": "Counts of how tasks kept their targets, kept for 32 days.",
    "resealings": "The progress of sealing values anew, of no meaning elsewhere.",
    "share_minutes": "Measurements of pools that tenants share, kept for days.",
    "task_cursors": "Where the scheduler is in each schedule: follows from tasks and executions.",
    "worker_hours": "Measurements of workers, kept for days.",
    "worker_minutes": "Measurements of workers, kept for days.",
    "workflow_fans": "The state of fan-outs under way: their ends are exported.",
    "workflow_inbox": "What runs under way have yet to hear: their ends are exported.",
    "workflow_retries": "Takes that wait to begin: they are exported once they have begun.",
    "workflow_signals": "Events of the last day that steps wait for, sealed.",
    "workflow_waits": "What steps under way wait for: their ends are exported.",
}
