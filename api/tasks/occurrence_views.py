"""``/v1/tasks/{id}/occurrences``: the ledger of one task."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.pagination import DEFAULT_LIMIT, LIST_PARAMETERS
from api.protocol.query import instant
from api.protocol.serializers import StrictDateTimeField
from api.tasks.answers import OneTaskView
from executions.loop.clocks import database_now
from insight.occurrences import MOST_DAYS, STATUSES, place_of, read_occurrences
from insight.presentation.occurrences import present_occurrences
from tasks.models import Task

Answer = serializers.Serializer[Any]


class OccurrenceSerializer(Answer):
    """One expected instant, and its outcome or its expected one."""

    scheduled_for = StrictDateTimeField()
    due_at = StrictDateTimeField(
        allow_null=True,
        help_text="When it starts or was due: its time, jitter included; null if it does not run.",
    )
    status = serializers.ChoiceField(choices=STATUSES)
    reason = serializers.CharField(allow_null=True)
    execution_id = serializers.UUIDField(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField())


class OccurrencesPagination(Answer):
    """The position in the list."""

    limit = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)


class OccurrencesAnswer(Answer):
    """Expected instants of a range, oldest first, each exactly once."""

    occurrences = OccurrenceSerializer(many=True)
    pagination = OccurrencesPagination()


class OccurrencesView(OneTaskView):
    """Every expected instant of a task in a range."""

    query_parameters = {
        "GET": {
            "from": instant("The first instant; 24 hours ago unless told."),
            "to": instant(f"The last instant; in 24 hours unless told, {MOST_DAYS} days at most."),
            "limit": LIST_PARAMETERS["limit"],
            "cursor": LIST_PARAMETERS["cursor"],
        }
    }

    @extend_schema(operation_id="list_occurrences", responses=OccurrencesAnswer)
    def get(self, request: Request, task_id: UUID) -> Response:
        """List every expected instant of a task, past and future, with its outcome or the reason.

        An instant without a row yet is EXPECTED. A cursor continues its own range and ignores
        `from` and `to`.
        """
        self.require(task_id)
        task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        query, now = self.query, database_now()
        place = place_of(
            task, since=query["from"], until=query["to"], cursor=query["cursor"], now=now
        )
        limit = query["limit"] or DEFAULT_LIMIT
        return Response(present_occurrences(read_occurrences(task, place, limit, now=now), limit))
