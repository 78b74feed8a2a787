"""The whole fixed installation: two tenants with everything, and what their rows are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.answers import fixed_history, fixed_rest, fixed_tasks
from bench.answers.stand import fixed_id

if TYPE_CHECKING:
    from tenants.models import Tenant

#: Names and the kinds of ids of the tenants; ten kinds are left to each.
TENANTS = {"Alpha": 0x010, "Beta": 0x020}


@dataclass(frozen=True, slots=True)
class Rows:
    """A tenant's key, and the values of each placeholder of a path."""

    key: str
    ids: dict[str, list[str]]
    #: How many executions and tasks were written.
    counts: dict[str, int]


def build() -> dict[str, Rows]:
    """Write the installation and return each tenant's rows."""
    from django.db import connection

    fixed_rest.make_shared()
    found = {name: _tenant(name, kind) for name, kind in TENANTS.items()}
    with connection.cursor() as cursor:
        # The audit log of the rows has ids and times of this moment: its calls answer with none.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM audit_entries")
        cursor.execute("DELETE FROM audit_chains")
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")
    return found


def _tenant(name: str, kind: int) -> Rows:
    tenant = fixed_rest.make_tenant(name, kind)
    made = fixed_tasks.make_tasks(tenant, kind)
    history = fixed_history.make_history(made, kind)
    fixed_history.write(history)
    tasks = [task for _, task in made]
    fixed_rest.make_rest(tenant, kind, tasks, history)
    ids = _ids(tenant, kind)
    ids["task_id"] = [str(task.id) for task in tasks]
    # No run of a workflow is among the fixed rows: these calls answer that there is none.
    ids["workflow_id"], ids["run_id"], ids["key"] = ids["task_id"][:1], ids["task_id"][:1], ["a"]
    # Nor is an audit entry.
    ids["entry_id"] = ids["task_id"][:1]
    # Nor an erasure, a member, an invitation, a named secret, a channel, an event webhook, a view
    # or a maintenance window.
    ids["erasure_id"] = ids["invitation_id"] = ids["task_id"][:1]
    ids["view_id"] = ids["window_id"] = ids["task_id"][:1]
    ids["channel_id"] = ids["event_subscription_id"] = ids["task_id"][:1]
    ids["member_id"], ids["name"] = ["1"], ["missing"]
    ids["execution_id"] = [str(row.id) for row in history.executions]
    ids["series"] = [str(row.series_id) for row in history.executions if row.series_id][:1]
    counts = {"tasks": len(tasks), "executions": len(history.executions)}
    return Rows(fixed_rest.key_of(name), ids, counts)


def _ids(tenant: Tenant, kind: int) -> dict[str, list[str]]:
    from executions.models import BulkJob, DeadLetter
    from notifications.models import Alert
    from notifications.services.rules import list_rules
    from tasks.models import Calendar, Pause
    from tenants.models import ApiKey

    models: dict[str, Any] = {
        "alert_id": Alert,
        "calendar_id": Calendar,
        "job_id": BulkJob,
        "key_id": ApiKey,
        "letter_id": DeadLetter,
        "pause_id": Pause,
    }
    found = {
        name: [str(row) for row in of_tenant.order_by("id").values_list("id", flat=True)]
        for name, of_tenant in (
            (name, model.objects.filter(tenant_id=tenant.id)) for name, model in models.items()
        )
    }
    return found | {
        "host": ["slow.example.com", "api.example.com", "nowhere.example"],
        "pool": ["batch", "missing"],
        # The built-in ones, which have no rows.
        "rule_id": [str(rule.id) for rule in list_rules(tenant.id)],
        "worker_id": ["worker-1", "worker-9"],
        "unknown": [str(fixed_id(fixed_tasks.CREATED, kind + 9, 999))],
    }
