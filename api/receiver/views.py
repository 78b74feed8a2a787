"""``/v1/receiver``: the built-in test receiver as the tenant has it.

Reading needs ``read``, forgetting ``operate``. 404 ``no_receiver`` where none runs.
"""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.query import integer, text
from api.protocol.views import PunctualView
from api.receiver.serializers import ReceivedRequests, ReceiverSerializer
from events.audit.readings import note_readings
from executions.triggering import receiver_requests

_MOST_LISTED = 1000
_PROBLEMS = {404: "No test receiver runs here (`no_receiver`)."}


class ReceiverView(PunctualView):
    """The address at which the tenant may try its webhooks."""

    problems = _PROBLEMS

    @extend_schema(operation_id="get_receiver", responses=ReceiverSerializer)
    def get(self, request: Request) -> Response:
        """Show your own address at the built-in test receiver.

        The address cannot be guessed. Only keys of this tenant see the requests that arrive below
        it.
        """
        return Response({"url": receiver_requests.required_address_of(self.tenant_id)})


class ReceiverRequestsView(PunctualView):
    """The requests that arrived below the tenant's address."""

    problems = _PROBLEMS
    scopes = {"DELETE": "operate"}
    query_parameters = {
        "GET": {
            "path": text("Only requests of this path, such as `/ok`."),
            "webhook_id": text("Only requests with this `webhook-id`: those of an execution."),
            "limit": integer("How many at most (100).", minimum=1, maximum=_MOST_LISTED),
        }
    }

    @extend_schema(operation_id="list_received_requests", responses=ReceivedRequests)
    def get(self, request: Request) -> Response:
        """List the requests that arrived below your address, newest first.

        Credentials are hidden: values of headers that carry them, and signing secrets.
        """
        given = {name: value for name, value in self.query.items() if value is not None}
        found = receiver_requests.received(self.tenant_id, given)
        if found["requests"]:
            # The requests are no rows: what was read is the receiver, as the tenant has it.
            note_readings(self.tenant_id, self.actor, "receiver", [self.tenant_id])
        return Response(found)

    @extend_schema(operation_id="forget_received_requests", responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request) -> Response:
        """Forget the requests that arrived below your address."""
        receiver_requests.forget(self.tenant_id)
        return Response(status=204)
