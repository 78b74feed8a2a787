"""Tasks: the list with each task's latest runs, one task, and its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard import list_filter
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.chosen_rows import rows_of
from dashboard.fields import read_text
from dashboard.list_doors import look_of
from dashboard.listing import present_listed, read_filters, read_page
from dashboard.live_parts import version_of
from dashboard.pause_form import PAUSES, read_end
from dashboard.payload_form import pretty, read_override
from dashboard.pictures.run_strip import RunBar
from dashboard.saved_views import default_address, parameters_of, views_of
from dashboard.target_words import describe_target
from dashboard.task_form.choices import clock_rule
from events.audit.listing import list_entries, order_of
from executions.changes import changing
from executions.choices import Status
from executions.gate.key_list import key_of
from executions.loop.clocks import database_now
from executions.models import Execution, Pool
from executions.triggering.triggers import run_task
from insight.explain.evidence import end_of_pause, standing_pause_of
from insight.filter_language.fields import TASKS
from insight.presentation.audit import present_entry
from insight.presentation.tasks import present_tasks
from insight.statistics.history import run_strips
from insight.task_fires import clock_changes_of, fires_of
from notifications.models import Alert
from shared.clock_text import clock_text
from shared.exceptions import FieldError, InvalidInput
from shared.ids import first_id_at
from tasks.budgets.keeping import present_use
from tasks.choices import TaskStatus
from tasks.definition import WORKFLOW_POOL, Definition
from tasks.dependencies import named_tasks, open_prerequisites
from tasks.models import Task
from tasks.revisions import own_revisions, read_definition
from tasks.standing_pauses import describe
from tasks.transitions import Pause
from tasks.validation.bodies import StatusChange
from tenants.choices import Role, SavedList

_FILTERS = ("filter", "status", "type", "label", "owner", "destination", "q")
_FIRES = 10
_RUNS = 30
_REVISIONS = 10
#: Alerts, and audit entries, that the page of a task shows.
_LINES = 5
#: Alerts of the tenant among which those of a task are looked for.
_ALERTS = 500


@page(Role.VIEWER)
def tasks(request: ConsoleRequest) -> HttpResponse:
    """List tasks, newest first unless asked otherwise, each with its latest runs."""
    default = default_address(request, SavedList.TASKS)
    if default is not None:
        return redirect(default)
    query = read_filters(request, parameters_of(SavedList.TASKS))
    asked = list_filter.read_filter(query, TASKS)
    if answer := list_filter.added(request, query, asked):
        return answer
    tenant = request.visitor.tenant.pk
    now = database_now()

    def read() -> dict[str, Any]:
        chosen = rows_of(SavedList.TASKS, tenant, query, now, asked.wanted)
        counted = query["destination"] is not None
        return read_page(chosen.rows, query, present=_listed, order=chosen.order, counted=counted)

    listed = asked.read(read, order=query["ordering"], none=dict(list_filter.NO_ROWS))
    strips = run_strips(tenant, [UUID(row["id"]) for row in listed["rows"]], _RUNS)
    for row in listed["rows"]:
        row["strip"] = [_bar(run) for run in strips.get(UUID(row["id"]), [])]
    return render(
        request,
        "dashboard/tasks.html",
        {
            **listed,
            "query": query,
            "list_filter": asked,
            "statuses": asked.chips("status"),
            "filtered": any(query[name] for name in _FILTERS),
            "views": views_of(request, SavedList.TASKS),
            "look": look_of(request, SavedList.TASKS, query, now=now),
        },
    )


def _listed(found: Sequence[Task]) -> list[dict[str, Any]]:
    return [
        {**shown, "host": one.destination}
        for one, shown in zip(found, present_tasks(found), strict=True)
    ]


@page(Role.VIEWER)
def task(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show one task: its next fires, its last runs, its versions."""
    tenant = request.visitor.tenant.pk
    found = Task.objects.get_for_tenant(tenant, task_id)
    if found.pool == WORKFLOW_POOL:
        return redirect("dashboard:workflow", task_id)
    [shown] = present_tasks([found])
    payload_text, definition_text = pretty(shown["payload"]), pretty(shown)
    # Prepared executions of the next seconds are listed under the next fires.
    due = first_id_at(database_now() + timedelta(seconds=1))
    resumes_at = end_of_pause(found, standing_pause_of(found))
    runs = Execution.objects.for_tenant(tenant).filter(task_id=task_id, id__lt=due).order_by("-id")
    return render(
        request,
        "dashboard/task.html",
        {
            "task": shown,
            "called": describe_target(shown["target"], found.destination),
            "fires": _fires(found),
            "clock_changes": clock_changes_of(found, now=database_now()),
            "clock_rule": clock_rule(found.schedule),
            "resumes_at": resumes_at,
            "strip": [_bar(run) for run in run_strips(tenant, [task_id], _RUNS)[task_id]],
            "runs": present_listed(list(runs[:_FIRES])),
            "revisions": list(own_revisions(found).order_by("-version")[:_REVISIONS]),
            "payload_text": payload_text,
            "definition_text": definition_text,
            "versions": {
                "payload": version_of(payload_text),
                "definition": version_of(definition_text),
            },
            "alerts": _alerts(tenant, task_id),
            "audit": _audit(request, task_id),
            "pauses": PAUSES,
            "is_paused": found.status == TaskStatus.PAUSED,
            "paused_pool": _paused_pool(tenant, shown["target"]),
            "holder": _holder_of(shown["paused_by"]),
            "key_use": key_of(tenant, found.concurrency_key) if found.concurrency_key else None,
            "depends_on": named_tasks(tenant, [UUID(one) for one in shown["depends_on"]]),
            "waits_for": open_prerequisites(found),
            "budget_use": present_use(found),
            "may_pause": found.status in (TaskStatus.SCHEDULED, TaskStatus.RUNNING),
            "may_cancel": found.status
            in (TaskStatus.SCHEDULED, TaskStatus.PAUSED, TaskStatus.RUNNING),
        },
    )


@action(Role.OPERATOR)
def pause(request: ConsoleRequest, task_id: UUID) -> Done:
    """Pause: no execution of the task starts until it resumes, by itself at a given time."""
    visitor = request.visitor
    until = read_end(request.POST, now=database_now())
    wanted = Pause(
        until=until,
        note=read_text(request, "note", longest=1000),
        on_resume=_one_of(request.POST.get("on_resume", "skip"), ("skip", "run_once", "replay")),
    )
    changing.pause_task(visitor.tenant.pk, task_id, wanted, actor=visitor.actor)
    end = f"until {clock_text(until, 'weekday')}" if until else "until it is resumed"
    return Done(f"Paused. No execution of this task starts {end}.")


@action(Role.OPERATOR)
def resume(request: ConsoleRequest, task_id: UUID) -> Done:
    """Resume; the pause's own policy decides on the instants within it."""
    visitor = request.visitor
    resumed = changing.resume_task(visitor.tenant.pk, task_id, actor=visitor.actor)
    if resumed.status == TaskStatus.PAUSED:
        return Done("Its own pause has ended; a standing pause holds it now.")
    return Done("Resumed.")


@action(Role.OPERATOR)
def run(request: ConsoleRequest, task_id: UUID) -> Done:
    """Run now, beside the schedule, with the payload of the form if it was edited."""
    visitor = request.visitor
    override = read_override(request.POST.get("payload"), request.POST.get("payload_before"))
    made = run_task(visitor.tenant.pk, task_id, override, actor=visitor.actor)
    return Done("Run requested. Its state is below.", _execution_url(made.pk), settled=False)


@action(Role.OPERATOR)
def cancel(request: ConsoleRequest, task_id: UUID) -> Done:
    """Stop future fires and cancel unstarted executions."""
    changing.cancel_task(request.visitor.tenant.pk, task_id, actor=request.visitor.actor)
    return Done("Cancelled. No further runs. Executions already running continue.")


@action(Role.ADMIN)
def delete(request: ConsoleRequest, task_id: UUID) -> Done:
    """Take the task out of the lists; its executions stay readable."""
    visitor = request.visitor
    changing.delete_task(visitor.tenant.pk, task_id, actor=visitor.actor)
    return Done("Deleted. Its executions stay readable.", reverse("dashboard:tasks"))


@action(Role.ADMIN)
def rollback(request: ConsoleRequest, task_id: UUID) -> Done:
    """Bring an earlier version back, as a new version."""
    visitor = request.visitor
    found: Task = Task.objects.get_for_tenant(visitor.tenant.pk, task_id)
    given = request.POST.get("version", "")
    if not given.isascii() or not given.isdecimal() or len(given) > 9:
        raise InvalidInput([FieldError("#/version", "invalid", "Choose one of the versions.")])
    version = int(given)

    def edit(current: Definition, now: Any) -> tuple[Definition, StatusChange | None]:
        return read_definition(found, version), None

    changing.edit_task(visitor.tenant.pk, task_id, edit, actor=visitor.actor)
    return Done(f"Version {version} is in force again, as a new version.")


def _alerts(tenant: UUID, task_id: UUID) -> list[Alert]:
    """Return the latest alerts about the task among the newest of the tenant.

    Index alerts_of_tenant_idx, and of each of these the key of its tasks.
    """
    newest = Alert.objects.filter(tenant_id=tenant).order_by("-created_at", "-id")
    known = newest.values("pk")[:_ALERTS]
    found = Alert.objects.filter(pk__in=known, tasks__task_id=task_id)
    return list(found.order_by("-last_at", "-id")[:_LINES])


def _audit(request: ConsoleRequest, task_id: UUID) -> list[dict[str, Any]]:
    """Return the latest audit entries about the task, for who may read the audit log."""
    if not request.visitor.may_edit:
        return []
    filters = {"object_kind": "task", "object_id": str(task_id)}
    entries = list_entries(request.visitor.tenant.pk, filters).order_by(*order_of(filters))
    return [present_entry(entry) for entry in entries[:_LINES]]


def _paused_pool(tenant: UUID, target: Mapping[str, Any]) -> str:
    """Return the pool of the target if it is paused."""
    pools = Pool.objects.filter(tenant_id=tenant, name=target.get("pool") or "", paused=True)
    return pools.values_list("name", flat=True).first() or ""


def _holder_of(paused_by: dict[str, Any] | None) -> str:
    return "" if paused_by is None else describe(paused_by["scope"], paused_by["value"])


def _bar(run: Any) -> RunBar:
    url = _execution_url(run.id)
    return RunBar(str(Status(run.status)), run.scheduled_for, run.duration_ms, url)


def _execution_url(execution_id: UUID) -> str:
    return reverse("dashboard:execution", args=[execution_id])


def _fires(found: Task) -> list[dict[str, Any]]:
    """Return the coming starts."""
    return [
        {"at": one.at, "due_at": one.due_at, "notes": list(one.notes)}
        for one in fires_of(found, _FIRES, now=database_now())
    ]


def _one_of(given: str, known: tuple[str, ...]) -> str:
    if given not in known:
        message = f"Choose one of {', '.join(known)}."
        raise InvalidInput([FieldError("#/on_resume", "invalid", message)])
    return given
