"""The audit of pages on which a member reads payloads, results or logs in clear.

A member, a row and an hour have one entry, however often the page is shown.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import DatabaseError
from django.http import HttpResponse
from django.urls import ResolverMatch

from dashboard.live_parts import HAVE
from events import audit
from shared import windowed_counts
from shared.redis_client import ConnectionFailed

if TYPE_CHECKING:
    from dashboard.access import ConsoleRequest

log = logging.getLogger(__name__)

_HOUR_SECONDS = 3600
#: Page -> the kind of its row and the parameter that names it.
PAGES = {
    "task": ("task", "task_id"),
    "task_edit": ("task", "task_id"),
    "task_versions": ("task", "task_id"),
    "workflow": ("task", "task_id"),
    "workflow_edit": ("task", "task_id"),
    "workflow_run": ("run", "run_id"),
    "workflow_step": ("run", "run_id"),
    "execution": ("execution", "execution_id"),
    "execution_log": ("execution", "execution_id"),
    "dead_letter": ("dead_letter", "letter_id"),
}
#: Forms that a task fills when the parameter ``copy`` of the address names it.
COPIES = ("task_new", "workflow_new")


def note_reading(request: ConsoleRequest, answer: HttpResponse) -> None:
    """Record that the visitor has read a row, once an hour, if the answer shows its payloads."""
    match = request.resolver_match
    if match is None or request.method != "GET" or answer.status_code != 200:
        return
    found = _row_of(request, match)
    if found is None or not request.visitor.sees_payloads:
        return
    kind, row = found
    visitor = request.visitor
    name = f"audit:read:{visitor.tenant.pk} {visitor.user.pk} {kind} {row}"
    try:
        if windowed_counts.count([name], _HOUR_SECONDS) != [1]:
            return
    except ConnectionFailed as error:
        log.warning("readings.not_counted", extra={"reason": type(error).__name__})
        if HAVE in request.headers:
            return  # An open page asks again every few seconds.
    try:
        # By its text: under its id, an entry about a task reports that the task has changed.
        audit.record(visitor.tenant.pk, visitor.actor, "payload.read", kind, str(row))
    except DatabaseError:
        # The next page has to try again.
        with suppress(*ConnectionFailed):
            windowed_counts.forget([name])
        raise


def _row_of(request: ConsoleRequest, match: ResolverMatch) -> tuple[str, UUID] | None:
    """Return the kind and the id of the row that a page shows; None for other pages."""
    page = match.url_name or ""
    if page in COPIES:
        try:
            return "task", UUID(request.GET.get("copy", ""))
        except ValueError:
            return None
    if page not in PAGES:
        return None
    kind, parameter = PAGES[page]
    return kind, match.kwargs[parameter]
