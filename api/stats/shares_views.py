"""``GET /v1/shares``: the tenant's share of scarce worker capacity. Needs ``read``."""

from __future__ import annotations

from dataclasses import replace

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.query import integer
from api.protocol.views import PunctualView
from api.stats.serializers import SharesAnswer
from insight.presentation.shares import present_shares
from insight.statistics.shares import MINUTES, MOST_MINUTES, shares_of
from tenants.models import Tenant


class SharesView(PunctualView):
    """The tenant's share of each pool."""

    query_parameters = {
        "GET": {
            "minutes": replace(
                integer(
                    "Minutes up to now that are shown.",
                    minimum=1,
                    maximum=MOST_MINUTES,
                ),
                default=MINUTES,
            )
        }
    }

    @extend_schema(operation_id="get_shares", responses=SharesAnswer)
    def get(self, request: Request) -> Response:
        """Show what the tenant received of each scarce pool, and what its weight made due.

        Without a pool in the answer no work of the tenant waited for the capacity of workers.
        """
        weight = Tenant.objects.values_list("weight", flat=True).get(pk=self.tenant_id)
        minutes = self.query["minutes"]
        return Response(present_shares(weight, minutes, shares_of(self.tenant_id, minutes)))
