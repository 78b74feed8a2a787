"""``/v1/quotas``: the limits of the tenant and what of them is used. Operators change them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.views import PunctualView
from api.tenants.serializers import Quotas
from tasks.quotas import present_quotas
from tenants.models import Tenant


class QuotasView(PunctualView):
    """The quotas of the tenant."""

    scopes = {"GET": "read"}

    @extend_schema(operation_id="get_quotas", responses=Quotas)
    def get(self, request: Request) -> Response:
        """Show each quota: its limit, what is used of it, and whether it is near."""
        return Response(present_quotas(Tenant.objects.get(pk=self.tenant_id)))
