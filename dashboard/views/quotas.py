"""The quotas of the tenant and what it uses of them; operators change them elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from tasks.quotas import present_quotas
from tenants.choices import Role
from tenants.quotas.limits import BURST_SECONDS


class _Words(NamedTuple):
    """The title of a quota, and what it counts."""

    title: str
    meaning: str


_WORDS = {
    "stored_tasks": _Words("Stored tasks", "Every task that is not deleted, ended ones too."),
    "stored_payload_bytes": _Words(
        "Stored payload bytes",
        "Payloads, headers and credentials of all versions of these tasks, encrypted.",
    ),
    "creations_per_second": _Words(
        "Creations a second",
        f"New tasks; {BURST_SECONDS} seconds' worth may come at once.",
    ),
    "calls_per_second": _Words(
        "API calls a second",
        f"Of each key; {BURST_SECONDS} seconds' worth may come at once.",
    ),
    "executions_in_flight": _Words(
        "Executions in flight", "What workers run at one time; more waits in the ledger."
    ),
    "executions_per_second": _Words(
        "Executions a second", "What workers start; more waits in the ledger."
    ),
    "runs_in_flight": _Words(
        "Runs in flight", "Runs of workflows that have begun and not ended; others wait."
    ),
    "steps_in_flight": _Words(
        "Steps in flight", "Steps of these runs that have begun and not ended; others wait."
    ),
    "retention_days": _Words("Days of history", "Older executions, attempts and logs are removed."),
}


@page(Role.VIEWER)
def quotas(request: ConsoleRequest) -> HttpResponse:
    """Show each quota with a bar."""
    found = present_quotas(request.visitor.tenant)
    listed = [_shown(one) for one in found["quotas"]]
    limited = any(one["limit"] is not None for one in listed)
    return render(request, "dashboard/quotas.html", {**found, "quotas": listed, "limited": limited})


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    words = _WORDS[one["name"]]
    at_once = one["limit"] and one["limit"] * BURST_SECONDS
    capacity = at_once if one["name"] == "creations_per_second" else one["limit"]
    full = one["share"] is not None and one["share"] >= 1
    texts = {
        f"{name}_text": None if one[name] is None else f"{one[name]:,}"
        for name in ("used", "limit")
    }
    return {**one, **words._asdict(), **texts, "capacity": capacity, "full": full}
