"""``/v1/calendar-feeds``: the feeds of members; each call needs ``admin``.

Keys belong to tenants, and a feed to a member, who sees it in the console.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.calendar_feeds.serializers import (
    CalendarFeedSerializer,
    MadeCalendarFeed,
    NewCalendarFeed,
)
from api.idempotency import ShownOnce, idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate_numbers
from api.protocol.query import integer
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from insight.month.feed import make_feed
from notifications.links import calendar_feed
from tenants.presentation import present_feed
from tenants.services.calendar_feeds import list_feeds, revoke_feed
from tenants.services.saved_views import member_of


class _FeedsPart(PunctualView):
    """A view of feeds."""

    scopes = {"GET": "admin", "POST": "admin", "DELETE": "admin"}
    seen_with = "admin"


class CalendarFeedsView(_FeedsPart):
    """The tenant's calendar feeds."""

    query_parameters = {
        "GET": {
            **LIST_PARAMETERS,
            "member": integer("Of this member.", minimum=1, maximum=2**63 - 1),
        }
    }

    @extend_schema(
        operation_id="list_calendar_feeds",
        responses=list_answer("calendar_feeds", CalendarFeedSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the feeds of all members, newest first; never their links."""
        asked = self.query["member"]
        member = None if asked is None else member_of(self.tenant_id, asked)
        found = [present_feed(feed) for feed in list_feeds(self.tenant_id, member)]
        page = paginate_numbers(
            len(found),
            self.query,
            key="calendar_feeds",
            read=lambda start, end: found[start:end],
        )
        return Response(page)

    @extend_schema(
        operation_id="create_calendar_feed",
        request=NewCalendarFeed,
        responses={201: MadeCalendarFeed},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Make a feed of a member; its link is shown this once.

        Calendar programs read the link without a key. It shows names and times of coming runs, and
        works until the feed is revoked, the member leaves, or the tenant is suspended.
        """
        wanted = self.read_body(NewCalendarFeed)
        made, token = make_feed(
            self.tenant_id,
            name=wanted["name"],
            filter_text=wanted["filter"],
            timezone=wanted["timezone"],
            member=member_of(self.tenant_id, wanted["member"]),
            actor=self.actor,
        )
        shown = {**present_feed(made), "url": calendar_feed(token)}
        location = f"/v1/calendar-feeds/{made.id}"
        return ShownOnce(shown, secrets=["url"], status=201, headers={"Location": location})


class CalendarFeedView(_FeedsPart):
    """One calendar feed."""

    @extend_schema(operation_id="revoke_calendar_feed", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, feed_id: UUID) -> Response:
        """Revoke a feed: its link works no longer."""
        revoke_feed(self.tenant_id, feed_id, actor=self.actor)
        return Response(status=204)
