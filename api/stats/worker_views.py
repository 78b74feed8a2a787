"""``POST /v1/workers/actions`` and ``GET /v1/takeovers``: the processes of the installation.

A key belongs to one tenant, and these processes serve all of them. Keys are answered only where the
operator has set PROCESSES_PUBLIC; they change something only where their tenant is, besides, one of
the operator's own, which has no limits.
"""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.views import PunctualView
from api.stats.worker_serializers import TakeoversAnswer, WorkerActionAnswer, WorkerActionBody
from executions.changes.worker_wishes import Action, Choice, wish
from insight import takeovers
from insight.presentation.takeovers import present_losses
from shared.exceptions import Forbidden
from shared.process_sight import is_hidden

_PUBLIC = "Only where PROCESSES_PUBLIC is on do keys see the installation."


class WorkerActionsView(PunctualView):
    """Make workers quiet, drain them, or let them work again."""

    scopes = {"POST": "admin"}
    receipt = frozenset({"changed", "unchanged"})
    problems = {
        403: "The key does not have the scope, or its tenant is not one of the operator's.",
        404: "No such worker lives.",
        409: "A worker stops already, cannot become quiet, or was changed just now.",
    }

    @extend_schema(
        operation_id="act_on_workers", request=WorkerActionBody, responses=WorkerActionAnswer
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Change what one worker does, or all live ones of a pool or of a host: all, or none.

        A quiet worker takes no new work and finishes what it runs; one that drains ends when it is
        empty. Nothing more is sent to it from the answer on. `GET /v1/workers` shows when it has
        `settled`, and what it still has in flight. Workers that start later take work.
        """
        if is_hidden():
            raise Forbidden(_PUBLIC)
        if not self.caller.unlimited:
            raise Forbidden("Only keys of a tenant without limits, the operator's own, may do so.")
        body = self.read_body(WorkerActionBody)
        choice = Choice(body.get("worker"), body.get("pool"), body.get("host"))
        done = wish(Action(body["action"]), choice, actor=self.actor)
        return Response({"changed": done.changed, "unchanged": done.unchanged})


class TakeoversView(PunctualView):
    """What was lost and taken over."""

    problems = {403: "The key does not have the scope, or processes are not public."}

    @extend_schema(operation_id="list_takeovers", responses=TakeoversAnswer)
    def get(self, request: Request) -> Response:
        """List the last takeovers of partitions, and the work and workers lost in a day.

        A takeover is of partitions that had no scheduler for more than a second.
        """
        if is_hidden():
            raise Forbidden(_PUBLIC)
        return Response(present_losses(takeovers.read()))
