"""Import a crontab: paste it, see the plan line by line, then import it as paused tasks."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from api.protocol.bodies import read_fields
from api.tasks.import_views import ImportBody
from dashboard.access import ConsoleRequest, page, run_once
from dashboard.fields import zone_of
from executions.changes.importing import Action, Planned
from executions.changes.pasted_crontab import DEFAULT_SOURCE, PastedCrontab, run_import
from insight.presentation.import_plan import count_actions
from shared.exceptions import InvalidInput, PunctualError
from tasks.editing import spec_of
from tasks.schedules.zones import zone_names
from tenants.choices import Role

_TEXTS = ("crontab", "url", "source", "timezone")
_MARKS = {Action.NEW: "+", Action.UNCHANGED: "=", Action.REFUSED: "!"}


@page(Role.ADMIN)
def task_import(request: ConsoleRequest) -> HttpResponse:
    """Show the form; with a crontab its plan; with ``import`` the new tasks."""
    if request.method == "GET":
        first = {"source": DEFAULT_SOURCE, "timezone": zone_of(request)}
        return _shown(request, first)
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "POST"])
    fields: dict[str, Any] = {name: request.POST.get(name, "") for name in _TEXTS}
    fields["system"] = "system" in request.POST
    visitor = request.visitor

    def import_all() -> HttpResponse:
        pasted = _read(fields)
        plan = run_import(visitor.tenant.pk, pasted, actor=visitor.actor, dry_run=False)
        made = count_actions(plan)[Action.NEW]
        if made:
            said = f"Imported. {made} new, each paused until you resume it."
            messages.success(request, said)
        else:
            messages.info(request, "Nothing to import: no line is new.")
        query = {"label": f"import_file:{pasted.source}", "status": "PAUSED"}
        return redirect(f"{reverse('dashboard:tasks')}?{urlencode(query)}")

    try:
        if "import" in request.POST:
            return run_once(request, import_all)
        pasted = _read(fields)
        plan = run_import(visitor.tenant.pk, pasted, actor=visitor.actor, dry_run=True)
    except InvalidInput as refused:
        return _shown(request, fields, errors=_by_field(refused))
    except PunctualError as refused:
        return _shown(request, fields, errors={"form": refused.message})
    return _shown(request, fields, plan=plan)


def _read(fields: dict[str, Any]) -> PastedCrontab:
    given = {
        **fields,
        "source": fields["source"].strip() or DEFAULT_SOURCE,
        "timezone": fields["timezone"].strip() or "UTC",
        "url": fields["url"].strip(),
    }
    return PastedCrontab(**read_fields(ImportBody, given))


def _by_field(refused: InvalidInput) -> dict[str, str]:
    errors: dict[str, str] = {}
    for one in refused.errors:
        field = [*one.pointer.split("/"), "form"][1]
        errors[field] = f"{errors.get(field, '')} {one.message}".strip()
    return errors


def _shown(
    request: ConsoleRequest,
    fields: dict[str, Any],
    *,
    plan: list[Planned] | None = None,
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    counts = count_actions(plan or [])
    shown = {
        "fields": fields,
        "errors": errors or {},
        "zones": sorted(zone_names()),
        "plan": None if plan is None else [_line(item) for item in plan],
        "new": counts[Action.NEW],
        "unchanged": counts[Action.UNCHANGED],
        "refused": counts[Action.REFUSED],
    }
    answer = render(request, "dashboard/task_import.html", shown, status=400 if errors else 200)
    # Commands of a crontab may hold secrets.
    answer["Cache-Control"] = "no-store"
    return answer


def _line(item: Planned) -> dict[str, Any]:
    """Return a line of the plan as the page shows it."""
    return {
        "number": item.line,
        "text": item.text,
        "mark": _MARKS[item.action],
        "action": str(item.action),
        "task": item.task if item.action is Action.UNCHANGED else None,
        "name": item.task.name if item.task else "",
        "schedule_text": item.schedule_text,
        "zone": spec_of(item.task).zone.info if item.task else None,
        "next": item.fires[0] if item.fires else None,
        "reason": item.reason,
        "notes": item.notes,
    }
