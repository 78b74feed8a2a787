"""``/v1/overview``, ``/v1/stats/throughput``, ``/v1/workers``, ``/v1/schedulers``: reads only."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.query import choice, integer, text
from api.protocol.views import PunctualView
from api.stats.serializers import (
    EarlierWorkersAnswer,
    OverviewSerializer,
    SchedulersAnswer,
    ThroughputAnswer,
    WorkerHistoryAnswer,
    WorkersAnswer,
)
from executions.housekeeping import worker_history
from insight import statistics
from insight.presentation.statistics import (
    present_earlier_workers,
    present_overview,
    present_schedulers,
    present_throughput,
    present_worker_history,
    present_workers,
)
from insight.statistics.minutes import MOST_MINUTES
from shared.exceptions import FieldError, InvalidInput, NotFound
from shared.process_sight import is_hidden

_MINUTES = 60
_HOURS = 24
_MINUTES_HOURS = 7 * 24
_MOST_HOURS = 90 * 24
_DAYS = 7
_WORKERS = 100
_MOST_WORKERS = 1_000


class OverviewView(PunctualView):
    """The tenant's open work and last hour."""

    @extend_schema(operation_id="get_overview", responses=OverviewSerializer)
    def get(self, request: Request) -> Response:
        """Show the open work of this moment and the results of the last hour."""
        return Response(present_overview(statistics.overview(self.tenant_id)))


class ThroughputView(PunctualView):
    """The ended attempts by minute."""

    query_parameters = {
        "GET": {"minutes": integer("How many, 60 unless given.", minimum=1, maximum=MOST_MINUTES)}
    }

    @extend_schema(operation_id="get_throughput", responses=ThroughputAnswer)
    def get(self, request: Request) -> Response:
        """Count the ended attempts of each of the last minutes, oldest first, empty ones too."""
        points = statistics.throughput(self.tenant_id, self.query["minutes"] or _MINUTES)
        return Response(present_throughput(points))


class WorkersView(PunctualView):
    """Who delivers."""

    @extend_schema(operation_id="list_workers", responses=WorkersAnswer)
    def get(self, request: Request) -> Response:
        """List the workers, also those lost within the last day, and the recorders.

        Of workers that lease over the API only the tenant's own, as of their last call. Of the
        installation's own, state, pool and capacity.
        """
        return Response(present_workers(statistics.workers(self.tenant_id), statistics.recorders()))


class EarlierWorkersView(PunctualView):
    """The workers of the last days."""

    query_parameters = {
        "GET": {
            "days": integer("Heard within this number of days (7).", minimum=1, maximum=90),
            "q": text("Part of the id.", max_length=200),
            "limit": integer("How many, 100 unless given.", minimum=1, maximum=_MOST_WORKERS),
        }
    }

    @extend_schema(operation_id="list_earlier_workers", responses=EarlierWorkersAnswer)
    def get(self, request: Request) -> Response:
        """List the workers of the last days by the hours that are over, the latest heard first.

        Only the tenant's own, which lease over the API, unless the operator shows processes.
        """
        found = worker_history.earlier_workers(
            self.query["days"] or _DAYS,
            tenant_id=self.tenant_id,
            q=self.query["q"] or "",
            limit=self.query["limit"] or _WORKERS,
        )
        return Response(present_earlier_workers(found))


class WorkerHistoryView(PunctualView):
    """The work of one worker."""

    query_parameters = {
        "GET": {
            "resolution": choice("minute", "hour", default="minute"),
            "hours": integer(
                "How many, 24 unless given; of minutes at most 168.",
                minimum=1,
                maximum=_MOST_HOURS,
            ),
        }
    }

    @extend_schema(operation_id="get_worker_history", responses=WorkerHistoryAnswer)
    def get(self, request: Request, worker_id: str) -> Response:
        """Show a worker's work and load, oldest first; minutes for a week, hours for 90 days.

        A minute and an hour appear when they are over. Only of the tenant's own workers, unless
        the operator shows processes.
        """
        if not worker_id.isprintable():
            raise NotFound("There is no such worker.")
        hours = self.query["hours"] or _HOURS
        by_hour = self.query["resolution"] == "hour"
        if not by_hour and hours > _MINUTES_HOURS:
            message = f"Minutes are kept for a week: give 1 to {_MINUTES_HOURS}, or ask for hours."
            raise InvalidInput([FieldError("?hours", "out_of_range", message)], message)
        read = worker_history.hours_of if by_hour else worker_history.minutes_of
        found: list[Any] = list(read(worker_id, hours, self.tenant_id))
        if not found and not _is_known(worker_id, self.tenant_id):
            raise NotFound(f"There is no worker {worker_id[:100]!r}.")
        shown = {"hours" if by_hour else "minutes": found}
        return Response(present_worker_history(worker_id, **shown))


class SchedulersView(PunctualView):
    """Who schedules."""

    @extend_schema(operation_id="list_schedulers", responses=SchedulersAnswer)
    def get(self, request: Request) -> Response:
        """List the schedulers, and whether each partition of the tasks has an owner."""
        return Response(present_schedulers(statistics.schedulers(), statistics.partition_map()))


def _is_known(worker_id: str, tenant_id: UUID) -> bool:
    """Return whether the history or Redis knows the worker."""
    if worker_history.is_known(worker_id, tenant_id):
        return True
    known = statistics.workers(tenant_id)
    return any(one.id == worker_id for one in known if one.leases or not is_hidden())
