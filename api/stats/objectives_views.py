"""``GET /v1/objectives``: the tenant's error budgets and burn rates. Needs ``read``."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.query import uuid
from api.protocol.views import PunctualView
from api.stats.objectives_serializers import ObjectivesAnswer
from insight.presentation.objectives import present_objectives, present_targets
from insight.statistics.objectives import objectives_of
from insight.statistics.task_targets import task_targets


class ObjectivesView(PunctualView):
    """The objectives, measured on the tenant's work."""

    query_parameters = {"GET": {"task_id": uuid("Of the tasks with targets only this one.")}}

    @extend_schema(operation_id="get_objectives", responses=ObjectivesAnswer)
    def get(self, request: Request) -> Response:
        """Show error budgets of 30 days, burn rates and top causes.

        `start` is the share of executions that start within 5 s of their due time, `success` that
        of attempts and missed instants without a fault of Punctual's own, `api` that of calls
        answered without 5xx. `tasks` has how tasks kept their own `targets`.
        """
        tasks = task_targets(self.tenant_id, self.query["task_id"])
        shown = present_objectives(objectives_of(self.tenant_id))
        return Response({**shown, "tasks": present_targets(tasks)})
