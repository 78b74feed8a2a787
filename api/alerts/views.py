"""``/v1/alerts``: read, mute. Reading needs ``read``, muting ``operate``."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.serializers import AlertDetail, AlertSerializer, MuteBody
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.choices import ALERT_KINDS
from notifications.models import Alert
from notifications.presentation import present_alert, present_alert_detail
from notifications.services.alerts import get_alert, mute_alert


class AlertsView(PunctualView):
    """The tenant's alerts."""

    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "kind": choice(*ALERT_KINDS, description="Of this kind."),
            "open": boolean("Only open or only closed ones."),
        }
    }

    @extend_schema(operation_id="list_alerts", responses=list_answer("alerts", AlertSerializer))
    def get(self, request: Request) -> Response:
        """List alerts, newest first; each is one incident with its count."""
        found = Alert.objects.filter(tenant_id=self.tenant_id)
        if self.query["kind"]:
            found = found.filter(kind=self.query["kind"])
        if self.query["open"] is not None:
            found = found.filter(closed_at__isnull=self.query["open"])
        return Response(paginate(found, self.query, key="alerts", serialize=present_alert))


class AlertView(PunctualView):
    """One alert."""

    @extend_schema(operation_id="get_alert", responses=AlertDetail)
    def get(self, request: Request, alert_id: UUID) -> Response:
        """Show an alert with its delivery log: each notice by member, channel and outcome."""
        return Response(present_alert_detail(get_alert(self.tenant_id, alert_id)))


class MuteAlertView(PunctualView):
    """Silence one alert."""

    scopes = {"POST": "operate"}
    receipt = frozenset({"id", "muted_until"})

    @extend_schema(operation_id="mute_alert", request=MuteBody, responses=AlertDetail)
    @idempotent(required=False)
    def post(self, request: Request, alert_id: UUID) -> Response:
        """Send no notice of the alert for `minutes`; it keeps counting. Zero ends the mute."""
        wanted = self.read_body(MuteBody)
        alert = mute_alert(self.tenant_id, alert_id, actor=self.actor, **wanted)
        return Response(present_alert_detail(alert))
