"""Bodies and answers of the calls about saved views."""

from __future__ import annotations

from rest_framework import serializers

from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from tenants.choices import SavedList
from tenants.services.saved_views import NAME_LENGTH, QUERY_LENGTH

_MOST_ID = 2**63 - 1
_QUERY = "The query of the list's address, such as `status=FAILED&window=7d`."
_MEMBER = "The member whose personal view it is; null for a shared one."
_DEFAULT = "Whether the list shows it where its address has no query."


class NewView(StrictSerializer):
    """A view to be saved."""

    list = StrictChoiceField(choices=SavedList.values)
    name = NameField(max_length=NAME_LENGTH)
    query = StrictCharField(max_length=QUERY_LENGTH, allow_blank=True, help_text=_QUERY)
    default = StrictBooleanField(required=False, help_text=_DEFAULT)
    member = StrictIntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=_MOST_ID,
        help_text=f"{_MEMBER} Needs the scope admin besides.",
    )


class ViewChange(StrictSerializer):
    """What is to be changed of a view; fields left out stay."""

    name = NameField(max_length=NAME_LENGTH, required=False)
    query = StrictCharField(
        max_length=QUERY_LENGTH, allow_blank=True, required=False, help_text=_QUERY
    )
    default = StrictBooleanField(required=False, help_text=_DEFAULT)


class SavedViewSerializer(serializers.Serializer[object]):
    """A saved view."""

    id = serializers.UUIDField()
    list = serializers.ChoiceField(choices=SavedList.values)
    name = serializers.CharField()
    query = serializers.CharField(allow_blank=True, help_text=_QUERY)
    shared = serializers.BooleanField(help_text="Whether every member of the tenant sees it.")
    member = serializers.IntegerField(allow_null=True, help_text=_MEMBER)
    default = serializers.BooleanField(help_text=_DEFAULT)
    unknown_parameters = serializers.ListField(
        child=serializers.CharField(),
        help_text="Parameters of its query that the list has no longer; they filter nothing.",
    )
    version = serializers.IntegerField(help_text="For If-Match.")
    created_at = StrictDateTimeField()
    updated_at = StrictDateTimeField()
