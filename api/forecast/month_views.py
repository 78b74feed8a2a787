"""``GET /v1/forecast/month``: a month by day, and the coming runs of one of its days."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.forecast.month_serializers import MonthSerializer
from api.protocol.lists import filter_text
from api.protocol.query import Parameter
from api.protocol.views import PunctualView
from executions.loop.clocks import database_now
from insight.filter_language.fields import TASKS
from insight.list_budget import TASKS_ADVICE, read_list
from insight.month.days import month_of, narrowing, present_month, present_runs
from insight.month.local_days import chosen_month, days_from, read_month
from insight.month.runs import runs_of_days
from insight.statistics.usage import read_day
from tasks.schedules.zones import Zone, find_zone

#: Lines of the coming runs of a day.
MOST_RUNS = 500
MONTH = Parameter(
    read_month,
    {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
    "The month, as YYYY-MM; the one under way unless given, a year before or after it at most.",
)
DAY = Parameter(
    read_day,
    {"type": "string", "format": "date"},
    "Also list the coming runs of this day, in its month unless `month` is given.",
)
ZONE = Parameter(
    find_zone,
    {"type": "string", "maxLength": 64},
    "The zone whose clock decides the days; UTC unless given.",
)


class MonthView(PunctualView):
    """A month of the tenant's runs."""

    query_parameters = {
        "GET": {"month": MONTH, "timezone": ZONE, "filter": filter_text(TASKS), "day": DAY}
    }

    @extend_schema(operation_id="get_month", responses=MonthSerializer)
    def get(self, request: Request) -> Response:
        """Count past and coming runs by day, with changes of the clocks, pauses and calendars.

        Counts of `coming` are at least that where `complete` is false, and those of a past day
        where `ended_at_least` is true.
        """
        wanted, now = self.query["filter"], database_now()
        zone: Zone = self.query["timezone"] or find_zone("UTC")
        first = chosen_month(self.query["month"], self.query["day"], zone, now)

        def read() -> dict[str, Any]:
            shown = present_month(month_of(self.tenant_id, first, zone, now, wanted))
            return {**shown, "runs": self._runs(zone, now)}

        plain = wanted is None or not wanted.terms
        return Response(read_list(read, advice=TASKS_ADVICE, unlimited=plain))

    def _runs(self, zone: Zone, now: datetime) -> dict[str, Any] | None:
        day = self.query["day"]
        if day is None:
            return None
        narrow = narrowing(self.tenant_id, self.query["filter"], now)
        days = days_from(day, 1, zone)
        return present_runs(day, runs_of_days(self.tenant_id, days, now, narrow, MOST_RUNS))
