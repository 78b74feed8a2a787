"""``/v1/tasks/{id}/statistics`` and ``/v1/tasks/{id}/calendar``: what a task did, and its days."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.query import choice
from api.protocol.serializers import StrictDateTimeField
from api.protocol.views import PunctualView
from insight.presentation.task_statistics import present_calendar, present_history
from insight.statistics.of_task import DEFAULT_WINDOW, MOST_ROWS, WINDOWS, history_of
from insight.task_calendar import MOST_A_DAY, calendar_of
from tasks.models import Task

Answer = serializers.Serializer[Any]


class TaskPercentiles(Answer):
    """Percentiles in milliseconds, values that occurred; null without any."""

    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)


class TaskFigures(Answer):
    """Executions that ended; `ended` counts skipped and cancelled ones, too.

    `success_share` is the successes among successes and failures, from 0 to 1.
    """

    ended = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    success_share = serializers.FloatField(allow_null=True)
    start_delay_ms = TaskPercentiles()
    duration_ms = TaskPercentiles()


class TaskPart(TaskFigures):
    """A part of the time, `part_seconds` long, from `at` on."""

    at = StrictDateTimeField()


class TaskCause(Answer):
    """Failures of one error code and HTTP status, and the latest of them."""

    error_code = serializers.CharField()
    response_status = serializers.IntegerField(allow_null=True)
    count = serializers.IntegerField()
    last_at = StrictDateTimeField()
    last_execution_id = serializers.UUIDField()


class TaskStatisticsAnswer(Answer):
    """The past work of a task from `from` to `to`.

    Where `complete` is false, more executions ended in the window than are counted, and `from` is
    the time of the oldest counted one.
    """

    window = serializers.ChoiceField(choices=list(WINDOWS))
    window_from = StrictDateTimeField()
    to = StrictDateTimeField()
    complete = serializers.BooleanField()
    part_seconds = serializers.IntegerField()
    total = TaskFigures()
    parts = TaskPart(many=True)
    causes = TaskCause(many=True)

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; ``from`` is no name that a class can have."""
        return {"from": StrictDateTimeField(), **super().get_fields()}


class TaskDaySerializer(Answer):
    """A day in the task's zone: what ended on it, and what is to come.

    `excluded`: a calendar leaves something out. `paused`: a pause does. `at_least`: the day has, or
    may have, more than was counted. `coming` is null where `max_occurrences` makes it unknown.
    """

    day = serializers.DateField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    skipped = serializers.IntegerField()
    coming = serializers.IntegerField(allow_null=True)
    at_least = serializers.BooleanField()
    excluded = serializers.BooleanField()
    paused = serializers.BooleanField()
    clock_change = serializers.CharField(allow_null=True)


class TaskCalendarAnswer(Answer):
    """The days of a task, oldest first."""

    at = StrictDateTimeField()
    timezone = serializers.CharField()
    today = serializers.DateField()
    days = TaskDaySerializer(many=True)


class TaskStatisticsView(PunctualView):
    """The past work of one task."""

    query_parameters = {"GET": {"window": choice(*WINDOWS, default=DEFAULT_WINDOW)}}

    @extend_schema(
        operation_id="get_task_statistics",
        responses=TaskStatisticsAnswer,
        description=(
            "Show a task's success, durations and start delays over time, and its failures by "
            f"cause. At most the newest {MOST_ROWS:,} executions of the window are counted."
        ),
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """Show a task's success, durations, start delays and failures by cause."""
        task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        return Response(present_history(history_of(task, self.query["window"])))


class TaskCalendarView(PunctualView):
    """The days of one task."""

    @extend_schema(
        operation_id="get_task_calendar",
        responses=TaskCalendarAnswer,
        description=(
            "Show what ended on each day, up to a year back as far as the history is kept, and "
            "what is to come within 30 days, in the task's zone, with pauses, calendars and "
            f"changes of the clocks. Of each day at most the newest {MOST_A_DAY} rows, and as "
            "many coming instants, are counted."
        ),
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """Show a task's past and coming days."""
        task = Task.objects.get_for_tenant(self.tenant_id, task_id)
        return Response(present_calendar(calendar_of(task)))
