"""``GET /v1/forecast``, ``POST /v1/forecast/spread`` and ``POST /v1/tasks/{id}/preview``."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.bulk_jobs.serializers import BulkJobSerializer
from api.bulk_jobs.views import JOB_RECEIPT, job_answer
from api.forecast.serializers import (
    EditPreview,
    ForecastSerializer,
    SpreadBody,
    SpreadPlan,
)
from api.idempotency import idempotent
from api.protocol.query import choice, instant, integer, text
from api.protocol.views import PunctualView
from api.tasks.definition_serializers import TaskEditSerializer
from executions.bulk.spreading import plan_spread, present_meeting, spread_minute
from executions.loop.clocks import database_now
from insight.forecast.load import MAX_DAYS, forecast, present_forecast
from insight.forecast.what_if import preview_edit
from shared.exceptions import FieldError, InvalidInput
from tasks.limits import LABEL_KEY_LENGTH, LABEL_VALUE_LENGTH

_RESOLUTIONS = ("minute", "hour")
#: A forecast may begin a little in the past, for callers whose clock is behind, or a year ahead.
_BACK, _AHEAD = timedelta(hours=1), timedelta(days=366)


class ForecastView(PunctualView):
    """The expected load."""

    query_parameters = {
        "GET": {
            "from": instant("Its minute is the first; now unless given."),
            "days": integer(f"How many days; {MAX_DAYS} unless given.", minimum=1, maximum=7),
            "resolution": choice(*_RESOLUTIONS, description="Of the buckets.", default="hour"),
            "destination": text(
                "Only starts that call this host, in any spelling; with its port unless that is "
                "80 or 443.",
                max_length=260,
            ),
            "label": text(
                "Only tasks with `key:value`, or with this key.",
                max_length=LABEL_KEY_LENGTH + 1 + LABEL_VALUE_LENGTH,
            ),
        }
    }

    @extend_schema(operation_id="get_forecast", responses=ForecastSerializer)
    def get(self, request: Request) -> Response:
        """Show how many starts are expected when, and which minutes stand out."""
        now = database_now()
        found = forecast(
            self.tenant_id,
            now=now,
            start=_start(self.query["from"], now),
            days=self.query["days"] or MAX_DAYS,
            destination=self.query["destination"],
            label=self.query["label"],
        )
        return Response(present_forecast(found, self.query["resolution"]))


class SpreadView(PunctualView):
    """Spread the starts of a minute."""

    scopes = {"POST": "write"}
    receipt = JOB_RECEIPT | {"tasks", "left_out", "limited"}

    @extend_schema(
        operation_id="spread_minute",
        request=SpreadBody,
        responses={200: SpreadPlan, 202: BulkJobSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Give the tasks of a minute a jitter by a bulk job; `dry_run` only counts (200)."""
        wanted = self.read_body(SpreadBody)
        jitter = wanted.get("jitter_seconds")
        if wanted["dry_run"]:
            found = plan_spread(self.tenant_id, wanted["at"])
            return Response(present_meeting(found, jitter))
        job = spread_minute(
            self.tenant_id,
            wanted["at"],
            actor=self.actor,
            jitter_seconds=jitter,
            expected_count=wanted.get("expected_count"),
        )
        return job_answer(job)


class PreviewEditView(PunctualView):
    """The changes that an edit would make."""

    versioned = frozenset({"POST"})
    scopes = {"POST": "read"}

    @extend_schema(operation_id="preview_edit", request=TaskEditSerializer, responses=EditPreview)
    def post(self, request: Request, task_id: UUID) -> Response:
        """Compare the task's next instants with those after an edit; changes nothing.

        The body is that of an edit and is refused for the same reasons.
        """
        shown = preview_edit(
            self.tenant_id,
            task_id,
            request.data,
            now=database_now(),
            expected_version=self.expected_version,
        )
        return Response(shown)


def _start(given: datetime | None, now: datetime) -> datetime | None:
    if given is not None and not now - _BACK <= given <= now + _AHEAD:
        message = "Begin now or at most a year ahead."
        raise InvalidInput([FieldError("?from", "out_of_range", message)], message)
    return given
