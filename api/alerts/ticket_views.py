"""``/v1/ws-tickets``."""

from __future__ import annotations

from urllib.parse import urlsplit

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.authentication import Credentials
from api.protocol.serializers import StrictDateTimeField
from api.protocol.views import PunctualView
from notifications.tickets import Holder, issue
from shared.conf import conf


class WsTicket(serializers.Serializer[object]):
    """A ticket, and the address that it opens once."""

    ticket = serializers.CharField()
    expires_at = StrictDateTimeField()
    url = serializers.CharField()


class WsTicketsView(PunctualView):
    """Tickets for the live socket."""

    scopes = {"POST": "read"}

    @extend_schema(operation_id="create_ws_ticket", request=None, responses={201: WsTicket})
    def post(self, request: Request) -> Response:
        """Make a ticket that opens one live socket within a minute."""
        ticket, expires_at = issue(_holder(self.caller))
        made = {"ticket": ticket, "expires_at": expires_at, "url": _url(ticket)}
        return Response(WsTicket(made).data, status=201, headers={"Cache-Control": "no-store"})


def _holder(caller: Credentials) -> Holder:
    if caller.token is None:
        return Holder(caller.tenant_id, caller.key_id)
    ends_at = None if caller.expires_at is None else caller.expires_at.timestamp()
    return Holder(caller.tenant_id, issuer=caller.token.issuer, ends_at=ends_at)


def _url(ticket: str) -> str:
    public = urlsplit(conf().public_url)
    scheme = "wss" if public.scheme == "https" else "ws"
    return f"{scheme}://{public.netloc}{public.path.rstrip('/')}/ws/live?ticket={ticket}"
