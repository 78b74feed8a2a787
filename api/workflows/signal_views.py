"""The call that sends a signal to the steps that wait for it."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.views import PunctualView
from api.workflows.serializers import SignalBody, SignalSerializer
from workflows.signals import send_signal


class SignalsView(PunctualView):
    """Signals."""

    scopes = {"POST": "operate"}

    @extend_schema(
        operation_id="send_signal", request=SignalBody, responses={202: SignalSerializer}
    )
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        """Release every step that waits for the name and correlation now.

        The signal is kept for 24 hours, for the first such step of each run that began before it
        came. `released` is how many steps waited for it.
        """
        body = self.read_body(SignalBody)
        name, correlation = body["name"], body["correlation"]
        signal_id, released = send_signal(
            self.tenant_id, name, correlation, body.get("payload"), actor=self.actor
        )
        answer = {
            "id": str(signal_id),
            "name": name,
            "correlation": correlation,
            "released": released,
        }
        return Response(answer, status=202)
