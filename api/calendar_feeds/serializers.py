"""Bodies and answers of the calls about calendar feeds."""

from __future__ import annotations

from rest_framework import serializers

from api.protocol.serializers import (
    NameField,
    StrictCharField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from tenants.services.calendar_feeds import FILTER_LENGTH, NAME_LENGTH

_MOST_ID = 2**63 - 1
_FILTER = "Which tasks, in the filter language of the list of tasks; empty for all."
_ZONE = "An IANA name; its clock decides which days runs are on."


class NewCalendarFeed(StrictSerializer):
    """A feed to be made."""

    name = NameField(max_length=NAME_LENGTH, help_text="What calendar programs call it.")
    member = StrictIntegerField(
        min_value=1, max_value=_MOST_ID, help_text="The member whose feed it is."
    )
    filter = StrictCharField(
        max_length=FILTER_LENGTH, allow_blank=True, default="", help_text=_FILTER
    )
    timezone = StrictCharField(max_length=64, default="UTC", help_text=_ZONE)


class CalendarFeedSerializer(serializers.Serializer[object]):
    """A calendar feed, without its link."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    filter = serializers.CharField(allow_blank=True, help_text=_FILTER)
    timezone = serializers.CharField(help_text=_ZONE)
    member = serializers.IntegerField(help_text="The member whose feed it is.")
    created_at = StrictDateTimeField()
    last_read_at = StrictDateTimeField(
        allow_null=True, help_text="When the link was read last, to the hour."
    )


class MadeCalendarFeed(CalendarFeedSerializer):
    """A new feed with its link."""

    url = serializers.CharField(
        required=False,
        help_text="The secret link, shown this once; an idempotent replay leaves it out.",
    )
