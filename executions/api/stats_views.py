"""``/v1/overview``, ``/v1/stats/throughput``, ``/v1/workers``, ``/v1/schedulers``: reads only."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from executions import stats
from executions.api.stats_serializers import (
    OverviewSerializer,
    SchedulersAnswer,
    ThroughputAnswer,
    WorkerHistoryAnswer,
    WorkersAnswer,
)
from executions.engine import worker_history
from executions.presentation_stats import (
    present_overview,
    present_schedulers,
    present_throughput,
    present_worker_history,
    present_workers,
)
from executions.stats.minutes import MOST_MINUTES
from shared.api.query import integer
from shared.api.views import PunctualView
from shared.exceptions import NotFound

_MINUTES = 60
_HOURS = 24
_MOST_HOURS = 168


class OverviewView(PunctualView):
    """How the tenant does."""

    @extend_schema(operation_id="get_overview", responses=OverviewSerializer)
    def get(self, request: Request) -> Response:
        """Show the open work of this moment and what came of the last hour's."""
        return Response(present_overview(stats.overview(self.tenant_id)))


class ThroughputView(PunctualView):
    """What ended, by minute."""

    query_parameters = {
        "GET": {"minutes": integer("How many, 60 unless given.", minimum=1, maximum=MOST_MINUTES)}
    }

    @extend_schema(operation_id="get_throughput", responses=ThroughputAnswer)
    def get(self, request: Request) -> Response:
        """Count what ended in each of the last minutes, oldest first, empty ones too."""
        points = stats.throughput(self.tenant_id, self.query["minutes"] or _MINUTES)
        return Response(present_throughput(points))


class WorkersView(PunctualView):
    """Who delivers."""

    @extend_schema(operation_id="list_workers", responses=WorkersAnswer)
    def get(self, request: Request) -> Response:
        """List the workers, also those lost within the last day, and the recorders.

        Of workers that lease over the API the tenant's own, by what they asked last.
        """
        return Response(present_workers(stats.workers(self.tenant_id), stats.recorders()))


class WorkerHistoryView(PunctualView):
    """What one worker did."""

    query_parameters = {
        "GET": {"hours": integer("How many, 24 unless given.", minimum=1, maximum=_MOST_HOURS)}
    }

    @extend_schema(operation_id="get_worker_history", responses=WorkerHistoryAnswer)
    def get(self, request: Request, worker_id: str) -> Response:
        """Show a worker's work and load by minute, oldest first; a week is kept."""
        found = worker_history.minutes_of(worker_id, self.query["hours"] or _HOURS)
        if not found and all(worker.id != worker_id for worker in stats.workers()):
            raise NotFound("There is no such worker.")
        return Response(present_worker_history(worker_id, found))


class SchedulersView(PunctualView):
    """Who schedules."""

    @extend_schema(operation_id="list_schedulers", responses=SchedulersAnswer)
    def get(self, request: Request) -> Response:
        """List the schedulers, and which of them owns each partition of the tasks."""
        return Response(present_schedulers(stats.schedulers(), stats.partition_map()))
