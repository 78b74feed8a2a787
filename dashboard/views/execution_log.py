"""The whole captured log of a handler or a command, as plain text."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse

from dashboard.access import ConsoleRequest, page
from executions.captured_logs import captured_log
from executions.models import Execution
from shared.exceptions import NotFound
from tenants.choices import Role

_ATTEMPT_DIGITS = 3


@page(Role.VIEWER)
def execution_log(request: ConsoleRequest, execution_id: UUID) -> HttpResponse:
    """Show an attempt's captured log: of the named attempt, or the latest with a log."""
    found = Execution.objects.get_for_tenant(request.visitor.tenant.pk, execution_id)
    given = request.GET.get("attempt", "")
    if given and not (given.isascii() and given.isdecimal() and len(given) <= _ATTEMPT_DIGITS):
        raise NotFound("There is no such attempt.")
    log = captured_log(found, int(given) if given else None)
    return HttpResponse(log.output, content_type="text/plain; charset=utf-8")
