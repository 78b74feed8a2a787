"""``GET /v1/support-bundle``: facts about the installation, where processes are public."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.views import PunctualView
from insight import installation
from shared.exceptions import Forbidden
from shared.process_sight import is_hidden


class SupportBundleView(PunctualView):
    """The support bundle."""

    problems = {403: "The key does not have the scope, or processes are not public."}

    @extend_schema(operation_id="get_support_bundle", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """Show facts about the installation that may be sent to people who help.

        They are numbers, versions and states of a fixed list, without any text of a tenant. Which
        there are may change with each version. A key belongs to one tenant: it is answered only
        where the operator has set PROCESSES_PUBLIC; else the console and
        `manage.py support bundle` have the bundle.
        """
        if is_hidden():
            raise Forbidden("Only where PROCESSES_PUBLIC is on do keys see the installation.")
        return Response(installation.describe())
