"""``GET /v1/usage``: what the tenant has used, by day, as JSON or CSV. Needs ``read``."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.accept import best
from api.protocol.query import Parameter, choice
from api.protocol.renderers import JSON
from api.protocol.views import PunctualView
from api.stats.serializers import UsageAnswer
from insight.presentation.usage import present_usage, usage_csv
from insight.statistics.usage import DAYS, MOST_DAYS, read_day, span_of, usage_of

CSV = "text/csv"


class UsageView(PunctualView):
    """The tenant's usage."""

    served_as = (JSON, CSV)
    query_parameters = {
        "GET": {
            "from": Parameter(
                read_day,
                {"type": "string", "format": "date"},
                f"The first day in UTC; unless given, {DAYS} days are shown. At most {MOST_DAYS}.",
            ),
            "to": Parameter(
                read_day,
                {"type": "string", "format": "date"},
                "The last day in UTC, which is included; today unless given.",
            ),
            "format": choice("json", "csv", description="Of the answer; Accept decides otherwise."),
        }
    }

    @extend_schema(
        operation_id="get_usage",
        responses={(200, JSON): UsageAnswer, (200, CSV): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Show what ended on each day: executions, attempts, seconds and recorded bytes.

        The current day is counted up to this moment.
        """
        span = span_of(self.query["from"], self.query["to"])
        days = usage_of(self.tenant_id, span)
        if self._wants_csv():
            return HttpResponse(usage_csv(days), content_type=f"{CSV}; charset=utf-8")
        return Response(present_usage(span, days))

    def _wants_csv(self) -> bool:
        if self.query["format"] is not None:
            return bool(self.query["format"] == "csv")
        return best(self.request.META.get("HTTP_ACCEPT", ""), self.served_as) == CSV
