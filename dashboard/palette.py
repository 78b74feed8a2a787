"""What the command palette and the search page find: pages by name, tasks by name, rows by id.

All of it is of the visitor's tenant, and no page is offered to a role that may not open it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from uuid import UUID

from django.urls import reverse

from dashboard.access import Visitor
from dashboard.context import Place, seen_places
from executions.models import BulkJob, DeadLetter, Execution
from insight.run_part import part_of
from notifications.models import Alert
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tenants.choices import Role

#: Tasks that one answer has at most.
MOST_TASKS = 8
MAX_QUERY = 200
_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


class Found(NamedTuple):
    """A row that an id or a name leads to; ``kind`` says in a word what it is."""

    kind: str
    label: str
    url: str


class _Inner(NamedTuple):
    """A page that the navigation does not name; ``words`` are other names that people type."""

    name: str
    label: str
    icon: str
    words: str = ""
    role: Role = Role.VIEWER


#: Other names of the places of the navigation.
_WORDS = {
    "overview": "home dashboard",
    "executions": "runs jobs ledger",
    "workflows": "dag",
    "forecast": "coming load hot spots",
    "dead_letters": "failed dlq retry",
    "destinations": "hosts domains circuits limits",
    "pools": "queues pull workers",
    "workers": "schedulers recorders partitions system",
    "objectives": "slo error budget",
    "settings": "notifications preferences push",
}
_INNER = (
    _Inner("task_new", "New task", "plus", "create add", Role.ADMIN),
    _Inner("workflow_new", "New workflow", "plus", "create add", Role.ADMIN),
    _Inner("task_import", "Import a crontab", "plus", "cron lines", Role.ADMIN),
    _Inner("maintenance", "Maintenance windows", "pause", "downtime mute"),
    _Inner("event_subscriptions", "Event subscriptions", "bell", "webhooks feed"),
    _Inner("alert_rules", "Alert rules", "bell", "conditions thresholds"),
    _Inner("channels", "Channels", "bell", "slack webhook pager notifications"),
    _Inner("forecast_month", "Month", "grid", "calendar runs by day"),
    _Inner("forecast_feeds", "Calendar feeds", "calendar", "ical subscribe"),
    _Inner("calendars", "Calendars", "calendar", "holidays ical windows"),
    _Inner("secrets", "Secrets", "key", "credentials passwords"),
    _Inner("quotas", "Quotas", "gauge", "limits tier"),
    _Inner("zones", "Zone database", "globe", "time zones dst"),
    _Inner("concurrency_keys", "Concurrency keys", "layers", "locks"),
    _Inner("shares", "Shares of workers", "cpu", "weights fairness"),
    _Inner("workers_earlier", "Earlier workers", "cpu", "lost ended"),
    _Inner("account", "Account", "user", "password second factor sessions"),
    _Inner("members", "Members", "people", "users roles invite", Role.ADMIN),
    _Inner("api_keys", "API keys", "key", "tokens scopes", Role.ADMIN),
    _Inner("encryption_keys", "Encryption keys", "key", "rotate", Role.ADMIN),
    _Inner("audit", "Audit", "archive", "log who changed", Role.ADMIN),
    _Inner("erasures", "Erasures", "trash", "gdpr delete", Role.ADMIN),
)


def pages_of(visitor: Visitor) -> list[dict[str, str]]:
    """Return every page that the visitor may open by name, the navigation's first."""
    listed: list[tuple[Place | _Inner, str, str]] = [
        *((one, _WORDS.get(one.name, ""), f"g {one.key}") for one in seen_places()),
        *((one, one.words, "") for one in _INNER if visitor.may(one.role)),
    ]
    return [
        {
            "label": page.label,
            "url": reverse(f"dashboard:{page.name}"),
            "icon": page.icon,
            "words": words,
            "keys": keys,
        }
        for page, words, keys in listed
    ]


def matching_pages(visitor: Visitor, query: str) -> list[dict[str, str]]:
    """Return the pages that have each word of the query in a name."""
    words = query.lower().split()
    return [
        page
        for page in pages_of(visitor)
        if all(word in f"{page['label']} {page['words']}".lower() for word in words)
    ]


def matching_tasks(tenant_id: UUID, query: str) -> list[Task]:
    """Return the newest tasks whose name or labels contain the query."""
    found = Task.objects.for_tenant(tenant_id).matching(query)
    return list(found.order_by("-created_at", "-id")[:MOST_TASKS])


def shown_task(task: Task) -> dict[str, Any]:
    """Return a task as the palette lists it."""
    is_workflow = task.pool == WORKFLOW_POOL
    return {
        "label": task.name,
        "detail": task.status.lower(),
        "icon": "branch" if is_workflow else "calendar",
        "url": reverse(f"dashboard:{'workflow' if is_workflow else 'task'}", args=[task.pk]),
    }


def id_in(text: str) -> UUID | None:
    """Return the id that a text is, or the only one that it has: ids come with quotes and links."""
    found = {UUID(one) for one in _ID.findall(text)}
    return found.pop() if len(found) == 1 else None


def find_by_id(tenant_id: UUID, wanted: UUID) -> Found | None:
    """Return the task, workflow, execution, run, dead letter, bulk job or alert of an id."""
    task = Task.objects.for_tenant(tenant_id).filter(pk=wanted).first()
    if task is not None:
        kind = "workflow" if task.pool == WORKFLOW_POOL else "task"
        return Found(kind, task.name, reverse(f"dashboard:{kind}", args=[wanted]))
    execution = Execution.objects.for_tenant(tenant_id).filter(pk=wanted).first()
    if execution is not None:
        return _of_execution(tenant_id, execution)
    letter = DeadLetter.objects.for_tenant(tenant_id).filter(pk=wanted).first()
    if letter is not None:
        name = _name_of(tenant_id, letter.task_id)
        return Found("dead letter", name, reverse("dashboard:dead_letter", args=[wanted]))
    job = BulkJob.objects.for_tenant(tenant_id).filter(pk=wanted).first()
    if job is not None:
        name = job.name or f"{job.action} {job.kind.replace('_', ' ')}"
        return Found("bulk job", name, reverse("dashboard:bulk_job", args=[wanted]))
    alert = Alert.objects.filter(tenant_id=tenant_id, pk=wanted).first()
    if alert is not None:
        return Found("alert", alert.title, reverse("dashboard:alert", args=[wanted]))
    return None


def _of_execution(tenant_id: UUID, execution: Execution) -> Found:
    task = Task.objects.for_tenant(tenant_id).filter(pk=execution.task_id).first()
    name = task.name if task else ""
    part = part_of(execution, task) if task else None
    if part is not None and not part.is_step:
        return Found("run", name, reverse("dashboard:workflow_run", args=[part.run_id]))
    return Found("execution", name, reverse("dashboard:execution", args=[execution.pk]))


def _name_of(tenant_id: UUID, task_id: UUID) -> str:
    names = Task.objects.for_tenant(tenant_id).filter(pk=task_id).values_list("name", flat=True)
    return names.first() or "(deleted task)"
