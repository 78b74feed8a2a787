"""``/v1/members/invitations``: offer an address a role, withdraw the offer, send it again."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.members.serializers import InvitationSerializer, NewInvitation
from api.members.views import MembersPart
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from notifications.services.invitations import invite_member, resend_invitation
from tenants.models import Invitation
from tenants.presentation import present_invitation
from tenants.services.invitations import get_invitation, withdraw_invitation


class InvitationsView(MembersPart):
    """The tenant's invitations."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_invitations",
        responses=list_answer("invitations", InvitationSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the invitations, newest first, and for thirty days those that have ended."""
        found = Invitation.objects.filter(tenant_id=self.tenant_id)
        return Response(
            paginate(found, self.query, key="invitations", serialize=present_invitation)
        )

    @extend_schema(
        operation_id="invite_member",
        request=NewInvitation,
        responses={201: InvitationSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Offer an address a role. The link is in the message alone, and works once in seven days.

        Only an owner's key may offer ownership.
        """
        wanted = self.read_body(NewInvitation)
        made = invite_member(self.tenant_id, by=self.authority, actor=self.actor, **wanted)
        location = f"/v1/members/invitations/{made.id}"
        return Response(present_invitation(made), status=201, headers={"Location": location})


class InvitationView(MembersPart):
    """One invitation."""

    @extend_schema(operation_id="get_invitation", responses=InvitationSerializer)
    def get(self, request: Request, invitation_id: UUID) -> Response:
        """Describe an invitation."""
        return Response(present_invitation(get_invitation(self.tenant_id, invitation_id)))

    @extend_schema(operation_id="withdraw_invitation", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, invitation_id: UUID) -> Response:
        """Withdraw an invitation; its link works no longer."""
        get_invitation(self.tenant_id, invitation_id)
        withdraw_invitation(self.tenant_id, invitation_id, by=self.authority, actor=self.actor)
        return Response(status=204)


class ResendInvitationView(MembersPart):
    """Send an invitation again."""

    @extend_schema(operation_id="resend_invitation", request=None, responses=InvitationSerializer)
    @idempotent(required=False)
    def post(self, request: Request, invitation_id: UUID) -> Response:
        """Send a new link, which replaces the earlier one, and renew the seven days."""
        get_invitation(self.tenant_id, invitation_id)
        renewed = resend_invitation(
            self.tenant_id, invitation_id, by=self.authority, actor=self.actor
        )
        return Response(present_invitation(renewed))
