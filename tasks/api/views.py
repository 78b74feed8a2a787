"""``POST /v1/schedules/preview``: what needs tasks alone; the calls about tasks are executions'."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from shared.api.views import PunctualView
from tasks.api.serializers import SchedulePreviewRequestSerializer, SchedulePreviewSerializer
from tasks.preview import preview


class SchedulePreviewView(PunctualView):
    """The next instants of a schedule that need not be saved."""

    scopes = {"POST": "read"}

    @extend_schema(
        operation_id="preview_schedule",
        request=SchedulePreviewRequestSerializer,
        responses=SchedulePreviewSerializer,
    )
    def post(self, request: Request) -> Response:
        """Say a schedule in plain words and when it fires next; changes nothing."""
        return Response(preview(request.data, now=timezone.now()))
