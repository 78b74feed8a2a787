"""``GET /v1/events``: the event feed of the caller's tenant."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.events.serializers import EventsPage
from api.protocol.query import choices, instant, integer, text
from api.protocol.views import PunctualView
from events import feed
from events.feed_types import TYPES

_EXAMPLE = OpenApiExample(
    "Two events of one execution",
    value={
        "events": [
            {
                "id": "0193f2a1-7c3d-8e4f-8a5b-6c7d8e9fa0b1",
                "type": "execution.started",
                "at": "2026-11-20T08:00:00.412Z",
                "subject_id": "0193f2a1-0000-8b1c-9d2e-3f4a5b6c7d8e",
                "task_id": "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",
                "data": None,
            },
            {
                "id": "0193f2a1-7d11-7aa0-b2c3-d4e5f6a7b8c9",
                "type": "execution.failed",
                "at": "2026-11-20T08:00:01.105Z",
                "subject_id": "0193f2a1-0000-8b1c-9d2e-3f4a5b6c7d8e",
                "task_id": "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1",
                "data": None,
            },
        ],
        "next_after": "AQAAAAAAAC7hAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGh9_g30G9Jm6M",
        "has_more": False,
    },
    response_only=True,
)


class EventsView(PunctualView):
    """The tenant's event feed."""

    query_parameters = {
        "GET": {
            "after": text("Continue a feed: `next_after` of the last answer.", max_length=200),
            "since": instant("Begin with events from then on; not beside `after`."),
            "types": choices(*TYPES, description="Only events of these types."),
            "limit": integer("Events per answer.", minimum=1, maximum=feed.MAX_LIMIT),
        }
    }
    problems = {
        410: "The events after this cursor are kept no longer; `detail` says where to begin."
    }

    @extend_schema(operation_id="list_events", responses=EventsPage, examples=[_EXAMPLE])
    def get(self, request: Request) -> Response:
        """List what happened, oldest first, from a cursor or a time on.

        Without `after` and `since` the feed begins with the oldest event that is kept. An answer
        without events has a cursor, too: ask again with it. Every event comes once, in one order,
        also where transactions commit late; `has_more` says whether to ask again at once.
        """
        place = feed.start(self.tenant_id, after=self.query["after"], since=self.query["since"])
        page = feed.read_page(
            self.tenant_id,
            place,
            types=self.query["types"] or TYPES,
            limit=self.query["limit"] or feed.DEFAULT_LIMIT,
        )
        return Response(
            {
                "events": [event.document() for event, _ in page.events],
                "next_after": feed.cursor(page.next, self.tenant_id),
                "has_more": page.has_more,
            }
        )
