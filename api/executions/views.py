"""``/v1/executions``: read, cancel, retry. Reading needs ``read``, acting ``operate``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import (
    EmptyBody,
    ExecutionDetail,
    ExecutionSerializer,
    RetryBody,
)
from api.idempotency import idempotent
from api.list_files import FILES, FORMAT, file_answer
from api.protocol.lists import filter_text, ordering
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import choice, choices, instant, text, uuid
from api.protocol.schema import list_or_file
from api.protocol.views import PunctualView
from executions.bulk.backfill_steps import executions_made_by
from executions.changes.cancellation import cancel_execution
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.querysets import ExecutionQuerySet
from executions.triggering.triggers import Override, retry_execution
from insight.filter_language.conditions import Scope, begins
from insight.filter_language.fields import EXECUTIONS
from insight.list_budget import advice_for, read_list
from insight.list_filters import DUE, ENDED, narrowed, with_bounds
from insight.list_orders import EXECUTION_ORDERS, in_order, is_plain
from insight.presentation.execution import present_executions
from insight.presentation.execution_detail import present_execution_detail
from tasks.choices import CONCURRENCY_KEY_LENGTH

_Answer = TypeVar("_Answer")
#: The filters of every list of executions.
EXECUTION_FILTERS = {
    "status": choices(*Status.values, description="One or more states."),
    "since": instant("Occurrences from this time on."),
    "until": instant("Occurrences before this time."),
    "due": choice(
        *DUE,
        description="Open work whose time has come: `now` waits for a worker; `late` has not "
        "started a second after it was due.",
    ),
    "ended": choice(
        *ENDED,
        description="Ended within the last hour, as `GET /v1/overview` counts it: in the minute "
        "under way or the 59 before it, without steps of workflows.",
    ),
}


class ExecutionsView(PunctualView):
    """The tenant's executions."""

    files_as = FILES

    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            **EXECUTION_FILTERS,
            "task": uuid("Of this task."),
            "pool": text("Of this pool.", max_length=63),
            "series": uuid("Made by this bulk job, a backfill."),
            "concurrency_key": text("Of this key.", max_length=CONCURRENCY_KEY_LENGTH),
            "q": text("In the task's name or labels, or in the error."),
            "filter": filter_text(EXECUTIONS),
            "ordering": ordering(EXECUTION_ORDERS, default="-id"),
            "format": FORMAT,
        }
    }

    @extend_schema(
        operation_id="list_executions",
        responses=list_or_file("executions", ExecutionSerializer),
    )
    def get(self, request: Request) -> HttpResponseBase:
        """List executions, newest first; also as CSV or JSON lines."""
        query = self.query
        if query["series"] is None:
            found = Execution.objects.for_tenant(self.tenant_id)
        else:
            found = executions_made_by(self.tenant_id, query["series"])
        if (format_ := self.file_format) is not None:
            make = partial(file_answer, request._request, "executions", format_=format_)
            return read_executions(self.tenant_id, found, query, make)
        return Response(list_executions(self.tenant_id, found, query))


class ExecutionView(PunctualView):
    """One execution."""

    reads = "execution"

    @extend_schema(operation_id="get_execution", responses=ExecutionDetail)
    def get(self, request: Request, execution_id: UUID) -> Response:
        """Show an execution with its attempts, its request and the answer to it."""
        execution = Execution.objects.get_for_tenant(self.tenant_id, execution_id)
        return Response(present_execution_detail(execution, now=database_now()))


class CancelExecutionView(PunctualView):
    """Cancel an execution."""

    scopes = {"POST": "operate"}

    @extend_schema(
        operation_id="cancel_execution", request=EmptyBody, responses={202: ExecutionSerializer}
    )
    @idempotent(required=False)
    def post(self, request: Request, execution_id: UUID) -> Response:
        """Cancel: work that has not started never starts, a request in flight ends within 5 s.

        The holder of a job, a receiver that answered 202 or a worker that leased it, learns of it
        with its next heartbeat. The job has 30 s from now; then it is CANCELLED.

        409 `already_final` when it has ended.
        """
        self.read_body(EmptyBody)
        execution = cancel_execution(self.tenant_id, execution_id, actor=self.actor)
        return accepted(execution)


class RetryExecutionView(PunctualView):
    """Run an execution's work again."""

    scopes = {"POST": "operate"}

    @extend_schema(
        operation_id="retry_execution", request=RetryBody, responses={202: ExecutionSerializer}
    )
    @idempotent(required=True)
    def post(self, request: Request, execution_id: UUID) -> Response:
        """Run a finished execution's work again, as a new execution that names it as parent."""
        override = override_of(self.read_body(RetryBody))
        made = retry_execution(self.tenant_id, execution_id, override, actor=self.actor)
        return accepted(made)


def list_executions(
    tenant_id: UUID, rows: ExecutionQuerySet, query: dict[str, Any]
) -> dict[str, Any]:
    """Return one page of the tenant's executions that match the query.

    A search by text or filter is not counted unless asked by page. Raise TooWide where it reads
    more rows than its time allows.
    """
    plain = is_plain(query.get("filter"), query.get("ordering", "-id"))

    def make(found: ExecutionQuerySet, asked: dict[str, Any], **options: Any) -> dict[str, Any]:
        is_counted = plain and not asked.get("q")
        return paginate(
            found,
            query,
            key="executions",
            serialize=lambda row: row,
            counted=is_counted,
            **options,
        )

    page = read_executions(tenant_id, rows, query, make)
    return {**page, "executions": present_executions(page["executions"])}


def read_executions(
    tenant_id: UUID,
    rows: ExecutionQuerySet,
    query: dict[str, Any],
    make: Callable[..., _Answer],
) -> _Answer:
    """Return what ``make`` makes of the rows, the query, their order and parts."""
    now = database_now()
    wanted, name = query.get("filter"), query.get("ordering", "-id")

    def read() -> _Answer:
        bounds, scope = with_bounds(query, now), Scope(tenant_id, now)
        found, filters = narrowed(rows, wanted, bounds, scope)
        ordered = in_order(found, EXECUTION_ORDERS[name])
        return make(
            ordered.filtered(filters),
            {**query, "q": filters.get("q")},
            order=EXECUTION_ORDERS[name],
            parts=ordered.parts(tenant_id, filters),
        )

    bounded = query.get("since") is not None or (wanted is not None and begins(wanted))
    return read_list(read, advice=advice_for(bounded=bounded), unlimited=is_plain(wanted, name))


def override_of(body: dict[str, Any]) -> Override | None:
    """Return the payload that a body gives, null too, or None when it gives none."""
    return Override(body["payload"]) if "payload" in body else None


def accepted(execution: Execution) -> Response:
    """Return 202 with an execution and its location."""
    location = f"/v1/executions/{execution.id}"
    shown = present_executions([execution])[0]
    return Response(shown, status=202, headers={"Location": location})
