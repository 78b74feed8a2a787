"""``/v1/dlq``: read, retry, resolve, archive, purge. Reading needs ``read``, acting ``operate``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.executions.serializers import (
    ArchiveBody,
    DeadLetterDetail,
    DeadLetterGroups,
    DeadLetterPage,
    ExecutionSerializer,
    ResolveBody,
    RetryBody,
)
from api.executions.views import accepted, override_of
from api.idempotency import idempotent
from api.list_files import FILES, FORMAT, file_answer
from api.protocol.lists import filter_text, ordering
from api.protocol.pagination import DEFAULT_LIMIT, LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice, text, uuid
from api.protocol.schema import or_file
from api.protocol.views import PunctualView
from executions.dead_letters.letters import (
    archive_dead_letter,
    purge_dead_letter,
    resolve_dead_letter,
    retry_dead_letter,
)
from executions.loop.clocks import database_now
from executions.models import DeadLetter
from executions.querysets import DeadLetterQuerySet
from insight.filter_language.conditions import Scope, letters_matching
from insight.filter_language.fields import DEAD_LETTERS
from insight.list_budget import TASKS_ADVICE, read_list
from insight.list_orders import DEAD_LETTER_ORDERS, is_plain
from insight.presentation.dead_letters import present_letter, present_letters
from shared.exceptions import FieldError, InvalidInput

_OPERATE = {"POST": "operate", "DELETE": "operate"}


class DeadLettersView(PunctualView):
    """The tenant's dead letters."""

    reads = "dead_letter"
    files_as = FILES
    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "resolved": boolean("Only resolved or only open ones."),
            "resolution": text(
                "Resolved by exactly this word: `retried`, `archived`, or a person's.",
                max_length=40,
            ),
            "task": uuid("Of this task."),
            "error_signature": text("Of exactly this cause."),
            "q": text("In the task's name or labels, the error or the note."),
            "filter": filter_text(DEAD_LETTERS),
            "ordering": ordering(DEAD_LETTER_ORDERS, default="-created_at"),
            "group_by": choice("error_signature", description="Count by cause, most first."),
            "format": FORMAT,
        }
    }

    @extend_schema(
        operation_id="list_dead_letters",
        responses=or_file(
            PolymorphicProxySerializer(
                "DeadLettersOrGroups",
                [DeadLetterPage, DeadLetterGroups],
                resource_type_field_name=None,
            )
        ),
    )
    def get(self, request: Request) -> HttpResponseBase:
        """List dead letters, newest first; with `group_by`, count them by cause.

        The list of letters comes as CSV or JSON lines, too.
        """
        query, format_ = self.query, self.file_format
        order = DEAD_LETTER_ORDERS[query["ordering"]]
        if query["group_by"] and format_ is not None:
            message = "Groups come as JSON only: leave group_by out, or take JSON."
            raise InvalidInput([FieldError("?group_by", "not_supported", message)], message)

        def read() -> Any:
            found = DeadLetter.objects.for_tenant(self.tenant_id).filtered(query)
            if query["filter"] is not None:
                scope = Scope(self.tenant_id, database_now())
                found = letters_matching(found, query["filter"], scope)
            if query["group_by"]:
                return _groups(found, query)
            if format_ is not None:
                plain, of = request._request, "dead_letters"
                return file_answer(plain, of, found, query, format_=format_, order=order)
            return paginate(
                found, query, key="dead_letters", serialize=lambda row: row, order=order
            )

        is_indexed = is_plain(query["filter"], query["ordering"])
        page = read_list(read, advice=TASKS_ADVICE, unlimited=is_indexed)
        if isinstance(page, HttpResponse):
            return page
        if query["group_by"]:
            return Response(page)
        return Response({**page, "dead_letters": present_letters(page["dead_letters"])})


class DeadLetterView(PunctualView):
    """One dead letter."""

    reads = "dead_letter"
    scopes = _OPERATE

    @extend_schema(operation_id="get_dead_letter", responses=DeadLetterDetail)
    def get(self, request: Request, letter_id: UUID) -> Response:
        """Show a dead letter with its payload and every attempt."""
        letter = DeadLetter.objects.get_for_tenant(self.tenant_id, letter_id)
        return Response(present_letter(letter))

    @extend_schema(operation_id="purge_dead_letter", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, letter_id: UUID) -> Response:
        """Purge a dead letter with its payload; the audit log keeps a record of it."""
        purge_dead_letter(self.tenant_id, letter_id, actor=self.actor)
        return Response(status=204)


class RetryDeadLetterView(PunctualView):
    """Run a dead letter's work again."""

    scopes = _OPERATE

    @extend_schema(
        operation_id="retry_dead_letter", request=RetryBody, responses={202: ExecutionSerializer}
    )
    @idempotent(required=True)
    def post(self, request: Request, letter_id: UUID) -> Response:
        """Run the work again, with an edited payload if given, and resolve as `retried`."""
        override = override_of(self.read_body(RetryBody))
        made = retry_dead_letter(self.tenant_id, letter_id, override, actor=self.actor)
        return accepted(made)


class ResolveDeadLetterView(PunctualView):
    """Close a dead letter by hand."""

    reads = "dead_letter"
    reads_by = frozenset({"POST"})
    scopes = _OPERATE
    receipt = frozenset({"id", "resolved", "resolution"})

    @extend_schema(
        operation_id="resolve_dead_letter", request=ResolveBody, responses=DeadLetterDetail
    )
    @idempotent(required=False)
    def post(self, request: Request, letter_id: UUID) -> Response:
        """Close a dead letter without running it again."""
        wanted = self.read_body(ResolveBody)
        letter = resolve_dead_letter(self.tenant_id, letter_id, actor=self.actor, **wanted)
        return Response(present_letter(letter))


class ArchiveDeadLetterView(PunctualView):
    """Put a dead letter aside."""

    reads = "dead_letter"
    reads_by = frozenset({"POST"})
    scopes = _OPERATE
    receipt = frozenset({"id", "resolved", "resolution"})

    @extend_schema(
        operation_id="archive_dead_letter", request=ArchiveBody, responses=DeadLetterDetail
    )
    @idempotent(required=False)
    def post(self, request: Request, letter_id: UUID) -> Response:
        """Resolve a dead letter as `archived`."""
        wanted = self.read_body(ArchiveBody)
        letter = archive_dead_letter(self.tenant_id, letter_id, actor=self.actor, **wanted)
        return Response(present_letter(letter))


def _groups(rows: DeadLetterQuerySet, query: dict[str, Any]) -> dict[str, Any]:
    if query["cursor"] is not None:
        message = "Groups go on by page, not by cursor."
        raise InvalidInput([FieldError("?cursor", "invalid", message)])
    limit, page = query["limit"] or DEFAULT_LIMIT, query["page"] or 1
    groups = rows.grouped_by_signature()
    start = (page - 1) * limit
    pagination = {
        "limit": limit,
        "page": page,
        "total": groups.count(),
        "total_estimated": False,
        "next_cursor": None,
    }
    return {"groups": list(groups[start : start + limit]), "pagination": pagination}
