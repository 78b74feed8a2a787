"""Bodies and answers of the calls about members and invitations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from tenants.choices import Role

_MOST_ID = 2**63 - 1
_SIGHT = (
    "Whether the member sees payloads, answers, results and logs; admins and owners always do. "
)


class MemberSerializer(serializers.Serializer[object]):
    """A member of the tenant."""

    id = serializers.IntegerField()
    name = serializers.CharField(help_text="The name of the account.")
    email = serializers.CharField(help_text="The address of the account; may be empty.")
    role = serializers.ChoiceField(choices=Role.values)
    sees_payloads = serializers.BooleanField(help_text=_SIGHT)
    active = serializers.BooleanField(help_text="Whether the account may sign in.")
    created_at = StrictDateTimeField()


class MemberChange(StrictSerializer):
    """What is to be changed of a member; fields left out stay."""

    role = StrictChoiceField(choices=Role.values, required=False)
    sees_payloads = StrictBooleanField(required=False, help_text=_SIGHT)


class Transfer(StrictSerializer):
    """Who gives the ownership up."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; ``from`` is a word of Python."""
        described = "The owner who becomes an admin; may be left out where there is one owner."
        former = StrictIntegerField(
            required=False,
            allow_null=True,
            default=None,
            min_value=1,
            max_value=_MOST_ID,
            help_text=described,
        )
        return {"from": former, **super().get_fields()}


class NewInvitation(StrictSerializer):
    """An offer to be made."""

    email = StrictCharField(max_length=150)
    role = StrictChoiceField(choices=Role.values)
    sees_payloads = StrictBooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"{_SIGHT}Left out: all but viewers do.",
    )


class InvitationSerializer(serializers.Serializer[object]):
    """An offer; the link is in the message alone."""

    id = serializers.UUIDField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.values)
    sees_payloads = serializers.BooleanField(help_text=_SIGHT)
    status = serializers.ChoiceField(choices=("open", "expired", "accepted", "withdrawn"))
    invited_by = serializers.CharField()
    created_at = StrictDateTimeField()
    expires_at = StrictDateTimeField()
    sent_at = StrictDateTimeField(
        allow_null=True, help_text="When the message was sent; null: not yet."
    )
    mail_error = serializers.CharField(
        allow_null=True, help_text="Why the message was not sent; null: no failure."
    )
