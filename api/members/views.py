"""``/v1/members``: the people of a tenant, their roles and their right to see payloads."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.members.serializers import MemberChange, MemberSerializer, Transfer
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from shared.exceptions import Forbidden
from tenants.authority import Authority
from tenants.models import Membership
from tenants.presentation import present_member
from tenants.services.memberships import (
    change_member,
    expel_member,
    get_member,
    transfer_ownership,
)


class MembersPart(PunctualView):
    """A view about members; its calls need ``admin``."""

    scopes = {"GET": "admin", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}
    seen_with = "admin"

    @property
    def authority(self) -> Authority:
        """Return the key as the one who changes members; raise Forbidden for one that ends."""
        if self.caller.expires_at is not None:
            raise Forbidden(
                "A key that expires, or a token, does not change members: what it gives would "
                "outlast it."
            )
        return Authority(key_id=self.caller.key_id)


class MembersView(MembersPart):
    """The tenant's members."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(operation_id="list_members", responses=list_answer("members", MemberSerializer))
    def get(self, request: Request) -> Response:
        """List the members, newest first. Others join by an invitation."""
        found = Membership.objects.filter(tenant_id=self.tenant_id).select_related("user")
        return Response(paginate(found, self.query, key="members", serialize=present_member))


class MemberView(MembersPart):
    """One member."""

    @extend_schema(operation_id="get_member", responses=MemberSerializer)
    def get(self, request: Request, member_id: int) -> Response:
        """Describe a member."""
        return Response(present_member(get_member(self.tenant_id, member_id)))

    @extend_schema(operation_id="change_member", request=MemberChange, responses=MemberSerializer)
    @idempotent(required=False)
    def patch(self, request: Request, member_id: int) -> Response:
        """Change a member's role or right to see payloads; effective with the member's next page.

        Only an owner's key may make or change an owner, and the last owner stays.
        """
        get_member(self.tenant_id, member_id)
        wanted = self.read_body(MemberChange)
        changed = change_member(
            self.tenant_id, member_id, wanted, by=self.authority, actor=self.actor
        )
        return Response(present_member(changed))

    @extend_schema(operation_id="remove_member", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, member_id: int) -> Response:
        """Remove a member; the account stays, and the keys that the member made stay valid.

        Only an owner's key may remove an owner, and the last owner stays.
        """
        get_member(self.tenant_id, member_id)
        expel_member(self.tenant_id, member_id, by=self.authority, actor=self.actor)
        return Response(status=204)


class TransferOwnershipView(MembersPart):
    """Hand the ownership to a member."""

    @extend_schema(operation_id="transfer_ownership", request=Transfer, responses=MemberSerializer)
    @idempotent(required=False)
    def post(self, request: Request, member_id: int) -> Response:
        """Make the member an owner in place of another one, who becomes an admin.

        Only an owner's key may do it.
        """
        get_member(self.tenant_id, member_id)
        wanted = self.read_body(Transfer)
        made = transfer_ownership(
            self.tenant_id,
            member_id,
            by=self.authority,
            actor=self.actor,
            from_id=wanted["from"],
        )
        return Response(present_member(made))
