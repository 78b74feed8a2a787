"""Calls that need the tables of tasks alone: the preview of a schedule, and zone moves."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import uuid
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.tasks.definition_serializers import (
    SchedulePreviewRequestSerializer,
    SchedulePreviewSerializer,
    ZoneMoveSerializer,
)
from shared import database_clock
from tasks.calendars import book
from tasks.preview import preview
from tasks.zone_changes import moves_of_tenant, present_zone_move


class SchedulePreviewView(PunctualView):
    """The next instants of a schedule that need not be saved."""

    scopes = {"POST": "read"}

    @extend_schema(
        operation_id="preview_schedule",
        request=SchedulePreviewRequestSerializer,
        responses=SchedulePreviewSerializer,
    )
    def post(self, request: Request) -> Response:
        """Describe a schedule in plain words and list its next fires; changes nothing."""
        return Response(
            preview(request.data, now=database_clock.now(), calendars=book(self.tenant_id))
        )


class ZoneMovesView(PunctualView):
    """Tasks whose future moved with the zone database."""

    query_parameters = {"GET": {**LIST_PARAMETERS, "task": uuid("Only this task's.")}}

    @extend_schema(
        operation_id="list_zone_moves", responses=list_answer("zone_moves", ZoneMoveSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the zone moves of tasks by new releases of the zone database, latest first.

        Each task is listed once per release: the first of its instants that differ, before and
        after, and how many instants of a year differ.
        """
        moves = moves_of_tenant(self.tenant_id)
        if self.query["task"] is not None:
            moves = moves.filter(task_id=self.query["task"])
        page = paginate(
            moves,
            self.query,
            key="zone_moves",
            serialize=present_zone_move,
            order=("-noticed_at", "-id"),
        )
        return Response(page)
