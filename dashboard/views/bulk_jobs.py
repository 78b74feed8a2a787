"""Bulk jobs: the exact scope before one begins, and its progress while it runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.chosen_rows import bulk_filters
from dashboard.fields import read_text
from dashboard.listing import read_filters, read_page
from dashboard.payload_form import pretty, read_field
from executions.bulk.backfill_steps import is_backfill
from executions.bulk.jobs import (
    cancel_bulk_job,
    count_matching,
    create_bulk_job,
    get_bulk_job,
    items_not_done,
    list_bulk_jobs,
    sample_matching,
)
from executions.bulk.results import count_results, with_open_executions
from executions.bulk.scope import ACTIONS, FILTERS, MAX_ITEMS
from executions.choices import JOB_ACTIVE
from executions.loop.clocks import database_now
from insight.list_budget import TooWide, read_list
from insight.presentation.bulk_jobs import (
    present_bulk_job,
    present_item,
    present_sample,
)
from shared.exceptions import FieldError, Forbidden, InvalidInput
from shared.instants import format_instant, parse_instant
from shared.strict_json import read_json
from tasks.limits import current_limits
from tasks.redirection import read_into
from tenants.choices import Role

#: From this count on, and for actions that cannot be undone, the visitor has to type the count.
TYPED_FROM = 1000
_IRREVERSIBLE = ("purge", "delete")
#: Filters of which several values may be given.
_MANY = ("ids", "status")
_NOUNS = {
    "dead_letters": "dead letter",
    "tasks": "task",
    "executions": "execution",
    "occurrences": "occurrence",
}
_VERBS = {"run": "Run now", "set": "Change"}
_ITEM_PAGES = {
    "dead_letters": "dashboard:dead_letter",
    "tasks": "dashboard:task",
    "executions": "dashboard:execution",
}


@page(Role.OPERATOR)
def bulk_new(request: ConsoleRequest) -> HttpResponse:
    """Show the exact scope of a job, and ask for the confirmation that its danger demands.

    A replay into a URL is asked for by POST: addresses of pages are logged, and URLs hold tokens.
    """
    given = request.POST if request.method == "POST" else request.GET
    if request.GET.get("into_url", "").strip():
        message = "A URL may hold a secret and is not taken from an address; use the form."
        raise InvalidInput([FieldError("?into_url", "not_supported", message)], message)
    kind, verb = _asked(request, given)
    # With all rows of the list, ticks beside single ones count no longer.
    filters = _all_of(kind, given) if given.get("all") else _filters(kind, given)
    into = _into(request, verb, given)
    tenant = request.visitor.tenant.pk
    scope = count_matching(tenant, kind, filters, action=verb, into=into)
    sample = sample_matching(tenant, kind, filters, action=verb)
    back = reverse(f"dashboard:{kind}")
    return render(
        request,
        "dashboard/bulk_new.html",
        {
            "kind": kind,
            "action": verb,
            "verb": _VERBS.get(verb, verb.title()),
            "noun": _NOUNS[kind],
            "scope": scope,
            "sample": present_sample(sample),
            "filters": [(name, value) for name, value in filters.items() if name != "ids"],
            "into": into,
            "is_all": bool(given.get("all")),
            "filters_text": orjson.dumps(filters, default=_as_text).decode(),
            "is_typed": is_typed(verb, scope.count),
            "may_slow": verb in ("retry", "replay", "run"),
            "may_note": verb in ("resolve", "archive"),
            "back": back,
            # Without what was posted this page would show another scope.
            "next": back if request.method == "POST" else request.get_full_path(),
        },
    )


@page(Role.OPERATOR)
def bulk_count(request: ConsoleRequest) -> HttpResponse:
    """Return how many rows match the list's query, as text for the page of the list.

    Nothing where counting takes longer than reading a list may; the page of the job counts them.
    """
    kind, tenant = request.GET.get("kind", ""), request.visitor.tenant.pk
    filters = _all_of(kind, request.GET)
    try:
        count = read_list(lambda: count_matching(tenant, kind, filters).count, advice="")
    except TooWide:
        return HttpResponse("", content_type="text/plain; charset=utf-8")
    text = f"over {MAX_ITEMS:,}, too many for one job" if count > MAX_ITEMS else f"{count:,}"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@action(Role.OPERATOR)
def bulk_create(request: ConsoleRequest) -> Done:
    """Begin the job if its scope is still the shown one."""
    kind, verb = _asked(request, request.POST)
    count = require_typed(request, verb)
    filters = _shown_filters(kind, request)
    visitor = request.visitor
    job = create_bulk_job(
        visitor.tenant.pk,
        kind=kind,
        action=verb,
        filters=filters,
        options=_options(request),
        name=read_text(request, "name", longest=200),
        actor=visitor.actor,
        expected_count=count,
    )
    url = reverse("dashboard:bulk_job", args=[job.pk])
    return Done("Requested. Progress below.", url, settled=False)


def require_typed(request: ConsoleRequest, verb: str) -> int:
    """Return the count that the page has shown; raise InvalidInput if it had to be typed."""
    count = int(_number(request, "expected_count", whole=True) or 0)
    if is_typed(verb, count) and request.POST.get("typed", "").strip() != str(count):
        message = f"Type {count} to continue. Nothing was changed."
        raise InvalidInput([FieldError("#/typed", "mismatch", message)])
    return count


@page(Role.VIEWER)
def bulk_jobs(request: ConsoleRequest) -> HttpResponse:
    """List bulk jobs, newest first."""
    query = read_filters(request, {})
    found = list_bulk_jobs(request.visitor.tenant.pk)
    listed = read_page(found, query, present=_presented, order=("-created_at", "-id"))
    return render(request, "dashboard/bulk_jobs.html", {**listed, "query": query})


@page(Role.VIEWER)
def bulk_job(request: ConsoleRequest, job_id: UUID) -> HttpResponse:
    """Show a job's progress, and the rows that it skipped or failed, with the reason."""
    query = read_filters(request, {})
    job = get_bulk_job(request.visitor.tenant.pk, job_id)
    listed = read_page(
        items_not_done(job),
        query,
        present=lambda items: [present_item(item) for item in items],
        order=("position",),
    )
    for item in listed["rows"]:
        # An instant that was skipped has no execution to look at.
        place = _ITEM_PAGES.get(job.kind)
        item["url"] = reverse(place, args=[item["id"]]) if place else ""
        item["at"] = parse_instant(item["at"]) if item["at"] else None
    [shown] = _presented([job])
    made = count_results(job)
    waits = bool(made and made["pending"])
    return render(
        request,
        "dashboard/bulk_job.html",
        {
            **listed,
            "query": query,
            "job": shown,
            "is_active": job.status in JOB_ACTIVE,
            "made": made,
            "made_ended": _ended(made) if made else 0,
            "made_in_all": sum(made.values()) if made else 0,
            "is_backfill": is_backfill(job),
            "made_moves": waits or bool(made and made["running"]),
            # What a retry has made is cancelled as executions are.
            "may_cancel": job.status in JOB_ACTIVE or (waits and is_backfill(job)),
            "task_id": job.filters.get("task") if is_backfill(job) else None,
            "filter_text": pretty(shown["filter"]),
            "options_text": pretty(shown["options"]) if shown["options"] else "",
        },
    )


@action(Role.OPERATOR)
def cancel(request: ConsoleRequest, job_id: UUID) -> Done:
    """Stop the job; finished rows stay done, the rest counts as skipped."""
    cancel_bulk_job(request.visitor.tenant.pk, job_id, actor=request.visitor.actor)
    return Done("Cancelled. Finished rows stay done.")


def _all_of(kind: str, given: QueryDict) -> dict[str, Any]:
    return bulk_filters(kind, given.get("query", ""), database_now())


def _ended(made: dict[str, int]) -> int:
    return sum(made.values()) - made["pending"] - made["running"]


def _presented(jobs: list[Any]) -> list[dict[str, Any]]:
    shown = [present_bulk_job(job) for job in jobs]
    still = {str(job_id) for job_id in with_open_executions(jobs)}
    for one in shown:
        one["state"] = "made, not all ended" if one["id"] in still else one["status"].lower()
        one["noun"] = _NOUNS[one["kind"]]
        one["verb"] = _VERBS.get(one["action"], one["action"].title())
        one["decided"] = one["total"] - one["remaining"]
    return shown


def _asked(request: ConsoleRequest, given: Any) -> tuple[str, str]:
    kind, verb = given.get("kind", ""), given.get("action", "")
    if kind not in ACTIONS or verb not in ACTIONS[kind]:
        message = "Choose what to do on the list first."
        raise InvalidInput([FieldError("?action", "invalid_choice", message)], message)
    if verb in ("delete", "set") and not request.visitor.may_edit:
        raise Forbidden("Changing or deleting tasks needs the role admin.")
    return kind, verb


def is_typed(verb: str, count: int) -> bool:
    """Return whether the count has to be typed: for many rows, and for irreversible actions."""
    return count > TYPED_FROM or verb in _IRREVERSIBLE


def _filters(kind: str, given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in FILTERS[kind]:
        values = [value for value in given.getlist(name) if value]
        if any("\0" in value for value in values):
            message = "A filter may not hold NUL characters."
            raise InvalidInput([FieldError(f"?{name}", "invalid", message)], message)
        if values and name != "resolved":
            found[name] = values if name in _MANY else values[0]
    if not found:
        message = "Select rows, or a cause, first."
        raise InvalidInput([FieldError("?ids", "required", message)], message)
    return found


def _shown_filters(kind: str, request: ConsoleRequest) -> dict[str, Any]:
    """Return the filters that the page of the scope has put into its form.

    None are a job over all rows of the list, if the page was about all.
    """
    try:
        given = read_json(request.POST.get("filters", ""), "#/filters")
        fields = QueryDict(mutable=True)
        for name, value in given.items():
            fields.setlist(name, [str(one) for one in value] if name in _MANY else [str(value)])
        if not given and "all" in request.POST:
            return {}
        return _filters(kind, fields)
    except (InvalidInput, AttributeError, TypeError) as error:
        message = "The form is damaged; go back and choose again."
        raise InvalidInput([FieldError("#/filters", "invalid", message)]) from error


def _options(request: ConsoleRequest) -> dict[str, Any]:
    options: dict[str, Any] = {
        "rate_per_second": _number(request, "rate_per_second"),
        "canary": _number(request, "canary", whole=True),
    }
    percent = _number(request, "stop_on_failure_percent")
    if percent is not None:
        options["stop_on_failure_rate"] = percent / 100
    if request.POST.get("action") in ("resolve", "archive"):
        options["note"] = read_text(request, "note", longest=1000)
    options["into"] = _into(request, request.POST.get("action", ""), request.POST)
    if request.POST.get("action") == "set":
        options["set"] = _patch(request.POST.get("set", ""))
    if request.POST.get("action") == "resolve":
        options["resolution"] = read_text(request, "resolution", longest=40, default="fixed")
    return {name: value for name, value in options.items() if value is not None}


def _into(request: ConsoleRequest, verb: str, given: QueryDict) -> dict[str, str] | None:
    """Return the other URL or pool of a replay; None without one."""
    into = {key: text for key in ("url", "pool") if (text := given.get(f"into_{key}", "").strip())}
    if verb != "replay" or not into:
        return None
    if not request.visitor.may_edit:
        raise Forbidden("Choosing where work goes needs the role admin.")
    return read_into(into, current_limits())


def _patch(text: str) -> Any:
    """Return the fields to set; the service validates them."""
    return read_field(text, "#/set", "Fields to set")


def _number(request: ConsoleRequest, name: str, *, whole: bool = False) -> float | int | None:
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError as error:
        label = name.replace("_", " ")
        message = f"The {label} must be a number."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)]) from error


def _as_text(value: Any) -> str:
    return format_instant(value) if hasattr(value, "astimezone") else str(value)
