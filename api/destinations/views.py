"""``/v1/destinations``: the hosts that webhooks call, their limits and circuits.

Reading needs ``read``, changing and resetting ``operate``.
"""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.destinations.serializers import (
    DestinationBody,
    DestinationsAnswer,
    DestinationSerializer,
)
from api.executions.serializers import EmptyBody
from api.idempotency import idempotent
from api.protocol.query import boolean, integer, text
from api.protocol.views import PunctualView
from executions.destinations import limits
from executions.destinations.limits import Shown
from insight.presentation.destinations import present_destination

_DEFAULT_LIMIT, _MOST = 100, 500
_LONGEST_HOST = 260


class DestinationsView(PunctualView):
    """The tenant's destinations."""

    query_parameters = {
        "GET": {
            "q": text(
                "Part of the host, the host in any spelling, or a URL that calls it.",
                max_length=_LONGEST_HOST,
            ),
            "limited": boolean("Only those with limits of their own, or only those without."),
            "after": text("Continue after this host: `next_after`.", max_length=_LONGEST_HOST),
            "limit": integer("Hosts per page (100).", minimum=1, maximum=_MOST),
        }
    }

    @extend_schema(operation_id="list_destinations", responses=DestinationsAnswer)
    def get(self, request: Request) -> Response:
        """List the hosts that tasks call or that have limits, by name."""
        limit = self.query["limit"] or _DEFAULT_LIMIT
        filters = {"q": self.query["q"], "limited": self.query["limited"]}
        found = limits.list_destinations(
            self.tenant_id, filters, after=self.query["after"] or "", limit=limit + 1
        )
        shown = found[:limit]
        return Response(
            {
                "destinations": [present_destination(one) for one in shown],
                "next_after": shown[-1].host if len(found) > limit else None,
            }
        )


class DestinationView(PunctualView):
    """One destination."""

    versioned = frozenset({"PATCH"})
    scopes = {"PATCH": "operate"}
    receipt = frozenset({"host", "version"})

    @extend_schema(operation_id="get_destination", responses=DestinationSerializer)
    def get(self, request: Request, host: str) -> Response:
        """Show a host: its limits, its circuit, its last minute, and its waiting executions."""
        return _answer(limits.get_destination(self.tenant_id, host))

    @extend_schema(
        operation_id="change_destination",
        request=DestinationBody,
        responses=DestinationSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request, host: str) -> Response:
        """Limit a host, or lift its limits.

        The limits apply at once, also to work that workers hold already. Requests in flight go on.
        """
        changed = limits.change_limits(
            self.tenant_id,
            host,
            self.read_body(DestinationBody),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)


class ResetDestinationView(PunctualView):
    """Close a circuit."""

    scopes = {"POST": "operate"}
    receipt = frozenset({"host", "version"})

    @extend_schema(
        operation_id="reset_destination", request=EmptyBody, responses=DestinationSerializer
    )
    @idempotent(required=False)
    def post(self, request: Request, host: str) -> Response:
        """Close the circuit by hand and forget the last minute; waiting executions continue."""
        self.read_body(EmptyBody)
        return _answer(limits.reset_circuit(self.tenant_id, host, actor=self.actor))


def _answer(found: Shown) -> Response:
    return Response(present_destination(found), headers={"ETag": f'"{found.version}"'})
