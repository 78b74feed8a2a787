"""``/v1/alerts``: read, mute. Reading needs ``read``, muting ``operate``."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.serializers import (
    AcknowledgeBody,
    AlertDetail,
    AlertSerializer,
    AssignBody,
    MuteBody,
)
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.choices import ALERT_KINDS
from notifications.models import Alert
from notifications.presentation import present_alert, present_alert_detail
from notifications.services.alerts import (
    acknowledge_alert,
    assign_alert,
    get_alert,
    mute_alert,
)


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


class AcknowledgeAlertView(PunctualView):
    """Say that a person works on one alert."""

    scopes = {"POST": "operate"}
    receipt = frozenset({"id", "acknowledged_at"})

    @extend_schema(operation_id="acknowledge_alert", request=AcknowledgeBody, responses=AlertDetail)
    @idempotent(required=False)
    def post(self, request: Request, alert_id: UUID) -> Response:
        """Send no further notice of the alert but that of its end, and do not escalate it.

        `acknowledged: false` takes that back. An alert that is over answers 409 `alert_closed`.
        """
        wanted = self.read_body(AcknowledgeBody)
        alert = acknowledge_alert(self.tenant_id, alert_id, actor=self.actor, **wanted)
        return Response(present_alert_detail(alert))


class AssignAlertView(PunctualView):
    """Name who works on one alert."""

    scopes = {"POST": "operate"}
    receipt = frozenset({"id"})

    @extend_schema(operation_id="assign_alert", request=AssignBody, responses=AlertDetail)
    @idempotent(required=False)
    def post(self, request: Request, alert_id: UUID) -> Response:
        """Name the member who works on the alert; null for none."""
        wanted = self.read_body(AssignBody)
        alert = assign_alert(self.tenant_id, alert_id, member_id=wanted["member"], actor=self.actor)
        return Response(present_alert_detail(alert))
