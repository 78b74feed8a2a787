"""Executions: the list with its filters, and one execution from its schedule to its answer."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from api.list_pages import WINDOWS, since_of
from dashboard import list_filter
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.chosen_rows import rows_of
from dashboard.execution_facts import attempt_facts, state_visits, stay_of, traces_of
from dashboard.list_doors import look_of
from dashboard.listing import present_listed, read_filters, read_page
from dashboard.live_parts import LIVE, version_of
from dashboard.log_text import readable
from dashboard.payload_form import pretty, read_override
from dashboard.saved_views import default_address, parameters_of, views_of
from dashboard.target_words import describe_target
from executions.captured_logs import captured_log
from executions.changes.cancellation import cancel_execution
from executions.choices import FINAL, OPEN, Status
from executions.gate.key_list import ShownKey, key_of
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from executions.payloads import as_readable, payload_of
from executions.redacted_fields import paths_of
from executions.triggering.triggers import retry_execution
from insight.filter_language.conditions import begins
from insight.filter_language.fields import EXECUTIONS
from insight.presentation.execution_detail import present_execution_detail
from insight.run_part import part_of
from insight.statistics.facets import MOST_COUNTED, status_counts
from shared.encryption import DecryptionFailed
from shared.exceptions import NotFound
from shared.payload_sight import PayloadsHidden, hide
from tasks.models import Task
from tasks.revisions import read_readable_version
from tenants.choices import Role, SavedList

#: Lists that the overview's numbers open, and their headings.
_MOMENTS = {
    ("due", "now"): "due now",
    ("due", "late"): "late by over 1 s",
    ("ended", "last_hour"): "ended in the last hour",
}
_FILTERS = (
    *("filter", "status", "since", "until", "task", "series", "concurrency_key", "due", "ended"),
    "q",
)
#: Columns of numbers, and the orders of columns that can be sorted by.
_NUMERIC = ("start_delay", "duration", "attempt", "http_status")


@page(Role.VIEWER)
def executions(request: ConsoleRequest) -> HttpResponse:
    """List executions of a window, newest first unless asked otherwise."""
    default = default_address(request, SavedList.EXECUTIONS)
    if default is not None:
        return redirect(default)
    query = read_filters(request, parameters_of(SavedList.EXECUTIONS))
    asked = list_filter.read_filter(query, EXECUTIONS)
    if answer := list_filter.added(request, query, asked):
        return answer
    now = database_now()
    moment = next((words for key, words in _MOMENTS.items() if query[key[0]] == key[1]), "")
    since = since_of(query, now, begins=begins(asked.wanted))
    # All executions of a backfill, without a window, in the order of their nominal times.
    query["ordering"] = query["ordering"] or ("-scheduled_for" if query["series"] else "-id")
    is_counted = not asked.wanted.terms and (bool(moment) or _is_open_work(query))
    listed = asked.read(
        lambda: _page_of(request, query, asked, now, is_counted),
        order=query["ordering"],
        none=dict(list_filter.NO_ROWS),
    )
    return render(
        request,
        "dashboard/executions.html",
        {
            **listed,
            "query": query,
            "list_filter": asked,
            "windows": [(name, label) for name, (label, _) in WINDOWS.items()],
            "moment": moment,
            "begins": begins(asked.box),
            "statuses": asked.chips("status", _counts(request, query, asked, now)),
            "most_counted": MOST_COUNTED,
            "task": _task_of(request, query["task"]),
            "filtered": any(query[name] for name in _FILTERS),
            "numeric": _NUMERIC,
            "open_states": OPEN,
            "views": views_of(request, SavedList.EXECUTIONS),
            "look": look_of(request, SavedList.EXECUTIONS, query, now=now, since=since),
        },
    )


@page(Role.VIEWER)
def execution(request: ConsoleRequest, execution_id: UUID) -> HttpResponse:
    """Show one execution: states, attempts, requests and answers."""
    found = Execution.objects.get_for_tenant(request.visitor.tenant.pk, execution_id)
    now = database_now()
    shown = present_execution_detail(found, now=now)
    attempts = attempt_facts(shown["attempts"])
    task = Task.objects.get(pk=found.task_id)
    target = read_readable_version(task, found.revision).definition.target
    part = part_of(found, task)
    is_take = part is not None and not part.is_step
    letter = DeadLetter.objects.for_tenant(found.tenant_id).filter(execution_id=found.pk).first()
    called = None if is_take else describe_target(target, found.destination)
    payload_text, result_text = pretty(_payload(found, shown)), _text(shown["result"])
    log = _log(found, shown["log_url"])
    return render(
        request,
        "dashboard/execution.html",
        {
            "execution": shown,
            "part": part,
            "is_final": found.status in FINAL,
            "now": now,
            "attempts": attempts,
            "visits": state_visits(found),
            "traces": traces_of(found),
            "letter": letter,
            "called": called,
            "payload_text": payload_text,
            "progress_text": _text(shown["progress"]),
            "result_text": result_text,
            "stay": {} if is_take else stay_of(found, target),
            "lost_count": found.lost_count,
            "key_use": _key_use(found),
            "log": log,
            "log_of": found.pk if shown["log_url"] else None,
            "exchanges": list(reversed(shown["attempts"])),
            "versions": {
                "result": version_of(result_text),
                "called": version_of(called, shown["request"], payload_text, found.status in FINAL),
                "log": version_of(log),
                "attempts": version_of(shown["attempts"], shown["log_url"]),
            },
        },
    )


@action(Role.OPERATOR)
def cancel(request: ConsoleRequest, execution_id: UUID) -> Done:
    """Cancel: unstarted work never starts, a request in flight is aborted."""
    visitor = request.visitor
    cancelled = cancel_execution(visitor.tenant.pk, execution_id, actor=visitor.actor)
    stopping = cancelled.status == Status.RUNNING
    if stopping:
        return Done("Cancel requested. The worker is told to end it.", settled=False)
    return Done("Cancelled.")


@action(Role.OPERATOR)
def retry(request: ConsoleRequest, execution_id: UUID) -> Done:
    """Run the work again as a new execution, with the payload of the form if it was edited."""
    visitor = request.visitor
    override = read_override(request.POST.get("payload"), request.POST.get("payload_before"))
    made = retry_execution(visitor.tenant.pk, execution_id, override, actor=visitor.actor)
    return Done("Retry requested. This is the new execution.", _url(made.pk), settled=False)


def _key_use(found: Execution) -> ShownKey | None:
    """Return the key that the execution shares; as it is now, which says nothing of ended work."""
    if found.concurrency_key is None:
        return None
    if found.status in FINAL:
        return ShownKey(found.concurrency_key, 0, 0, None, [])
    return key_of(found.tenant_id, found.concurrency_key)


def _payload(found: Execution, shown: dict[str, Any]) -> Any:
    """Return the execution's payload as text; "" where its method sends none."""
    return (
        shown["request"]["body"]
        if shown["request"]
        else hide(
            as_readable(partial(payload_of, found)).payload,
            paths_of(found.task_id, found.revision),
        )
    )


def _log(found: Execution, log_url: str | None) -> dict[str, Any] | None:
    """Return the latest log as the page shows it; None where nothing was captured."""
    if log_url is None:
        return None
    try:
        log = captured_log(found)
    except NotFound:
        return None
    except PayloadsHidden as error:
        return {"unreadable": error.message}
    except DecryptionFailed as error:
        return {"unreadable": error.message}
    text = readable(log.output)
    return {
        "attempt": log.attempt,
        "exit_code": log.exit_code,
        "is_cut": log.truncated,
        "text": text.text,
        "left_out": text.left_out,
    }


def _text(value: Any) -> str:
    return "" if value is None else pretty(value)


def _url(execution_id: UUID) -> str:
    return reverse("dashboard:execution", args=[execution_id])


def _page_of(
    request: ConsoleRequest,
    query: dict[str, Any],
    asked: list_filter.ListFilter,
    now: datetime,
    is_counted: bool,
) -> dict[str, Any]:
    tenant = request.visitor.tenant.pk
    chosen = rows_of(SavedList.EXECUTIONS, tenant, query, now, asked.wanted)
    return read_page(
        chosen.rows,
        query,
        present=present_listed,
        order=chosen.order,
        counted=is_counted,
        parts=chosen.parts,
    )


def _counts(
    request: ConsoleRequest, query: dict[str, Any], asked: list_filter.ListFilter, now: datetime
) -> dict[str, int] | None:
    """Return how many rows of each state the other filters leave.

    None where a live page asks again, because the numbers are those of its loading, and where a
    text is looked for, which would be looked for eight times.
    """
    if LIVE in request.headers or asked.error or query["q"]:
        return None
    wanted = asked.box.without("status")
    if wanted.taking_text()[1] is not None:
        return None
    tenant, others = request.visitor.tenant.pk, {**query, "status": None}
    return status_counts(lambda: rows_of(SavedList.EXECUTIONS, tenant, others, now, wanted).rows)


def _task_of(request: ConsoleRequest, task_id: UUID | None) -> Task | None:
    if task_id is None:
        return None
    return Task.objects.filter(tenant_id=request.visitor.tenant.pk, pk=task_id).first()


def _is_open_work(query: dict[str, Any]) -> bool:
    """Return whether the list shows open work of any time, which is little, so it is counted."""
    return query["window"] == "any" and bool(query["status"]) and not FINAL & {*query["status"]}
