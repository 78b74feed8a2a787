"""``/v1/channels``: admins add, change, test and remove them; ``read`` shows them without URLs."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.channel_schemas import (
    ChannelChangeSerializer,
    ChannelCreateSerializer,
    ChannelSerializer,
    ChannelTestSerializer,
)
from api.executions.serializers import EmptyBody
from api.idempotency import idempotent, idempotent_outside
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.models import AlertChannel
from notifications.presentation import present_channel
from notifications.services import channels
from notifications.services.channel_sending import send_channel_trial
from tasks.payloads import require_object


class _ChannelsView(PunctualView):
    """A view of channels; each change needs ``admin``."""

    scopes = {"GET": "read", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}
    takes_secrets = True


class ChannelsView(_ChannelsView):
    """The tenant's shared channels."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_channels", responses=list_answer("channels", ChannelSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the channels that alerts go to besides members, by name, without their URLs."""
        found = channels.list_channels(self.tenant_id)
        page = paginate(
            found, self.query, key="channels", serialize=present_channel, order=("name", "id")
        )
        return Response(page)

    @extend_schema(
        operation_id="create_channel",
        request=ChannelCreateSerializer,
        responses={201: ChannelSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Add a webhook, or a chat or paging service, that alerts go to.

        Webhooks are signed with the tenant's signing secrets. The URL is sealed and never shown.
        """
        body = require_object(request.data)
        made = channels.create_channel(self.tenant_id, body, actor=self.actor)
        headers = {"Location": f"/v1/channels/{made.id}", **_etag(made)}
        return Response(present_channel(made), status=201, headers=headers)


class ChannelView(_ChannelsView):
    """One shared channel."""

    versioned = frozenset({"PATCH"})

    @extend_schema(operation_id="get_channel", responses=ChannelSerializer)
    def get(self, request: Request, channel_id: UUID) -> Response:
        """Show a channel, without its URL, and how its last message went."""
        return _answer(channels.get_channel(self.tenant_id, channel_id))

    @extend_schema(
        operation_id="change_channel",
        request=ChannelChangeSerializer,
        responses=ChannelSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request, channel_id: UUID) -> Response:
        """Change a channel; fields left out stay. Messages that are owed go to a new URL."""
        changed = channels.change_channel(
            self.tenant_id,
            channel_id,
            require_object(request.data),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)

    @extend_schema(operation_id="remove_channel", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, channel_id: UUID) -> Response:
        """Remove a channel, with its entries in the delivery log."""
        channels.remove_channel(self.tenant_id, channel_id, actor=self.actor)
        return Response(status=204)


class TestChannelView(PunctualView):
    """Test a channel."""

    scopes = {"POST": "admin"}
    receipt = frozenset({"sent", "status"})

    @extend_schema(operation_id="test_channel", request=EmptyBody, responses=ChannelTestSerializer)
    @idempotent_outside
    def post(self, request: Request, channel_id: UUID) -> Response:
        """Send a test message now, and show the real answer of the other side.

        At most five within ten minutes for each channel.
        """
        self.read_body(EmptyBody)
        trial = send_channel_trial(self.tenant_id, channel_id, actor=self.actor)
        return Response(
            {
                "sent": trial.sent,
                "status": trial.status,
                "answer": trial.answer,
                "error": trial.error or None,
            }
        )


def _answer(channel: AlertChannel) -> Response:
    return Response(present_channel(channel), headers=_etag(channel))


def _etag(channel: AlertChannel) -> dict[str, str]:
    return {"ETag": f'"{channel.version}"'}
