"""Dead letters: groups by cause, the letters of a group, and what can be done with one."""

from __future__ import annotations

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
from dashboard.listing import read_filters, read_page
from dashboard.live_parts import version_of
from dashboard.payload_form import pretty, read_override
from dashboard.saved_views import default_address, parameters_of, views_of
from executions.captured_logs import log_url
from executions.dead_letters.letters import (
    USUAL_RESOLUTIONS,
    archive_dead_letter,
    purge_dead_letter,
    resolve_dead_letter,
    retry_dead_letter,
)
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from executions.querysets import DeadLetterQuerySet
from insight.filter_language.fields import DEAD_LETTERS
from insight.presentation.dead_letters import present_letter
from insight.run_part import part_of
from insight.statistics.history import dead_letter_sparklines
from shared.payload_sight import hide
from tasks.models import Task
from tenants.choices import Role, SavedList

_NARROWING = ("task", "error_signature", "q", "resolution")
_GROUPS = 50
#: Resolved letters, the newest ones, whose words the list offers as a filter; and such words.
_LOOKED_AT = 20_000
_WORDS = 50


@page(Role.VIEWER)
def dead_letters(request: ConsoleRequest) -> HttpResponse:
    """Show open dead letters by cause, or the letters themselves."""
    default = default_address(request, SavedList.DEAD_LETTERS)
    if default is not None:
        return redirect(default)
    query = read_filters(request, parameters_of(SavedList.DEAD_LETTERS))
    asked = list_filter.read_filter(query, DEAD_LETTERS)
    if answer := list_filter.added(request, query, asked):
        return answer
    tenant = request.visitor.tenant.pk
    now = database_now()
    by_cause = query["view"] == "groups" and query["state"] == "open"
    by_cause = by_cause and not query["error_signature"]

    def read() -> dict[str, Any]:
        chosen = rows_of(SavedList.DEAD_LETTERS, tenant, query, now, asked.wanted)
        if by_cause:
            return _groups(tenant, chosen.rows)
        order = chosen.order
        return read_page(chosen.rows, query, present=_with_tasks, order=order, counted=True)

    nothing = {**list_filter.NO_ROWS, "groups": [], "letters": 0, "causes": 0}
    listed = asked.read(read, order=query["ordering"], none=nothing)
    # A bulk job knows a text and no other filter: it must not act on more than is counted here.
    others, searched = asked.box.taking_text()
    narrowed = {name: query[name] for name in (*_NARROWING, "filter") if query[name]}
    return render(
        request,
        "dashboard/dead_letters.html",
        {
            **listed,
            "query": query,
            "by_cause": by_cause,
            "narrowed": narrowed,
            "views": views_of(request, SavedList.DEAD_LETTERS),
            "look": look_of(request, SavedList.DEAD_LETTERS, query, now=now),
            "list_filter": asked,
            "acts_on_groups": not others.terms,
            "searched": searched,
            "words": _resolutions(tenant, query) if query["state"] == "resolved" else [],
            "task": Task.objects.filter(tenant_id=tenant, pk=query["task"]).first()
            if query["task"]
            else None,
        },
    )


@page(Role.VIEWER)
def dead_letter(request: ConsoleRequest, letter_id: UUID) -> HttpResponse:
    """Show one dead letter: why it failed, with what payload, and what to do."""
    found = DeadLetter.objects.get_for_tenant(request.visitor.tenant.pk, letter_id)
    shown = present_letter(found)
    task = Task.objects.filter(pk=found.task_id).first()
    execution = Execution.objects.filter(pk=found.execution_id).first()
    payload_text = pretty(shown["payload"])
    edit_text = pretty(shown["edit"]["payload"]) if shown["edit"] else ""
    is_kept = task is not None and task.deleted_at is None
    part = part_of(execution, task) if execution and task else None
    log_of = found.execution_id if execution and log_url(execution) else None
    return render(
        request,
        "dashboard/dead_letter.html",
        {
            "letter": shown,
            "task": task,
            "part": part,
            "task_is_kept": is_kept,
            "attempts": list(reversed(shown["attempts"])),
            "payload_text": payload_text,
            "log_of": log_of,
            "edit_text": edit_text,
            "versions": {
                "payload": version_of(payload_text, edit_text, shown["resolved"], is_kept, part),
                "attempts": version_of(shown["attempts"], log_of),
            },
            "resolutions": [(name, name.replace("_", " ")) for name in USUAL_RESOLUTIONS],
        },
    )


@action(Role.OPERATOR)
def retry(request: ConsoleRequest, letter_id: UUID) -> Done:
    """Run the work again, with the payload of the form if it was edited."""
    visitor = request.visitor
    override = read_override(request.POST.get("payload"), request.POST.get("payload_before"))
    made = retry_dead_letter(visitor.tenant.pk, letter_id, override, actor=visitor.actor)
    url = reverse("dashboard:execution", args=[made.pk])
    return Done("Retry requested. The dead letter is resolved as retried.", url, settled=False)


@action(Role.OPERATOR)
def resolve(request: ConsoleRequest, letter_id: UUID) -> Done:
    """Close it without running it again."""
    visitor = request.visitor
    resolve_dead_letter(
        visitor.tenant.pk,
        letter_id,
        resolution=read_text(request, "resolution", longest=40, default="fixed"),
        note=_note(request),
        actor=visitor.actor,
    )
    return Done("Resolved.")


@action(Role.OPERATOR)
def archive(request: ConsoleRequest, letter_id: UUID) -> Done:
    """Put it aside."""
    visitor = request.visitor
    archive_dead_letter(visitor.tenant.pk, letter_id, note=_note(request), actor=visitor.actor)
    return Done("Archived.")


@action(Role.OPERATOR)
def purge(request: ConsoleRequest, letter_id: UUID) -> Done:
    """Remove it with its payload; the audit log keeps that it was there."""
    visitor = request.visitor
    purge_dead_letter(visitor.tenant.pk, letter_id, actor=visitor.actor)
    return Done("Purged. Its payload is gone.", reverse("dashboard:dead_letters"))


def _note(request: ConsoleRequest) -> str:
    return read_text(request, "note", longest=1000)


def _resolutions(tenant: UUID, query: dict[str, Any]) -> list[str]:
    """Return the words that the list offers as a filter, the chosen one among them."""
    chosen = {query["resolution"]} if query["resolution"] else set()
    letters = DeadLetter.objects.for_tenant(tenant)
    known = [word for word in letters.resolutions(_LOOKED_AT) if word != "archived"]
    return sorted({*known[:_WORDS], *chosen})


def _groups(tenant: UUID, found: DeadLetterQuerySet) -> dict[str, Any]:
    """Return the causes with the most letters, and how many causes and letters there are."""
    counted = found.grouped_by_signature()
    groups = list(counted[: _GROUPS + 1])
    many = len(groups) > _GROUPS
    letters = found.count() if many else sum(group["count"] for group in groups)
    causes = counted.count() if many else len(groups)
    shown = groups[:_GROUPS]
    lines = dead_letter_sparklines(tenant, [group["error_signature"] for group in shown])
    return {
        "groups": [{**group, "line": lines.get(group["error_signature"], [])} for group in shown],
        "letters": letters,
        "causes": causes,
        "more_causes": causes - len(shown),
    }


def _with_tasks(letters: list[DeadLetter]) -> list[dict[str, Any]]:
    names = dict(
        Task.objects.filter(id__in={one.task_id for one in letters}).values_list("id", "name")
    )
    return [
        {
            "letter": one,
            "task_name": names.get(one.task_id, ""),
            "error_message": hide(one.error_message),
        }
        for one in letters
    ]
