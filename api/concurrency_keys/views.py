"""``/v1/concurrency-keys``: the keys that tasks share, and who has their places. Needs ``read``."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.concurrency_keys.serializers import ConcurrencyKeysAnswer
from api.protocol.query import integer, text
from api.protocol.views import PunctualView
from executions.gate.key_list import list_keys
from insight.presentation.concurrency_keys import present_key
from tasks.choices import CONCURRENCY_KEY_LENGTH

_DEFAULT_LIMIT, _MOST = 50, 200


class ConcurrencyKeysView(PunctualView):
    """The tenant's concurrency keys."""

    query_parameters = {
        "GET": {
            "q": text("Part of the key.", max_length=CONCURRENCY_KEY_LENGTH),
            "after": text(
                "Continue after this key: `next_after`.", max_length=CONCURRENCY_KEY_LENGTH
            ),
            "limit": integer("Keys per page (50).", minimum=1, maximum=_MOST),
        }
    }

    @extend_schema(operation_id="list_concurrency_keys", responses=ConcurrencyKeysAnswer)
    def get(self, request: Request) -> Response:
        """List the concurrency keys that have open work, by name, with the work that runs."""
        limit = self.query["limit"] or _DEFAULT_LIMIT
        found = list_keys(
            self.tenant_id, q=self.query["q"], after=self.query["after"] or "", limit=limit + 1
        )
        shown = found[:limit]
        return Response(
            {
                "concurrency_keys": [present_key(one) for one in shown],
                "next_after": shown[-1].key if len(found) > limit else None,
            }
        )
