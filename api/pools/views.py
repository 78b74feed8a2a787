"""``/v1/pools``: pull workers lease from them; people watch, pause and limit them.

Reading needs ``read``, leasing ``worker``, changing ``operate``.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.pools.long_poll import MAX_BODY_BYTES, Wait, ask_to_wait
from api.pools.serializers import LeaseBody, LeasesAnswer, PoolBody, PoolsAnswer
from api.pools.serializers import PoolSerializer as Pool
from api.protocol.views import PunctualView
from executions.external import pools, pull_leases
from executions.external.pull_leases import Ask, Lease, Load
from executions.models import Execution
from insight.presentation.execution import present_executions
from insight.presentation.pools import present_pool
from shared.client_address import client_address


class PoolsView(PunctualView):
    """The tenant's pools."""

    @extend_schema(operation_id="list_pools", responses=PoolsAnswer)
    def get(self, request: Request) -> Response:
        """List the pools that workers of the tenant lease from, by name."""
        return Response({"pools": [present_pool(one) for one in pools.list_pools(self.tenant_id)]})


class PoolView(PunctualView):
    """One pool."""

    versioned = frozenset({"PATCH"})
    scopes = {"PATCH": "operate", "DELETE": "operate"}
    receipt = frozenset({"name", "version"})

    @extend_schema(operation_id="get_pool", responses=Pool)
    def get(self, request: Request, pool: str) -> Response:
        """Show a pool: its due and waiting work, its leases and its workers."""
        return Response(present_pool(pools.get_pool(self.tenant_id, pool)))

    @extend_schema(operation_id="change_pool", request=PoolBody, responses=Pool)
    @idempotent(required=False)
    def patch(self, request: Request, pool: str) -> Response:
        """Pause, resume or limit a pool; a missing pool is created.

        From the answer on no worker leases from a paused pool. Leased executions continue.
        """
        changed = pools.change_pool(
            self.tenant_id,
            pool,
            self.read_body(PoolBody),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return Response(present_pool(changed))

    @extend_schema(operation_id="delete_pool", responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, pool: str) -> Response:
        """Delete a pool; 409 `pool_in_use` while a task names it."""
        pools.delete_pool(self.tenant_id, pool, actor=self.actor)
        return Response(status=204)


class LeaseView(PunctualView):
    """Work for a pull worker."""

    scopes = {"POST": "worker"}
    seen_with = "worker"
    max_body_bytes = MAX_BODY_BYTES

    @extend_schema(operation_id="lease_executions", request=LeaseBody, responses=LeasesAnswer)
    def post(self, request: Request, pool: str) -> Response:
        """Lease up to `max` due executions of a pool; wait up to `wait_seconds` for the first.

        Work comes by priority, then by how long it has been due. When an answer is lost, its
        executions are leased again after their leases have expired. A missing pool is created.
        """
        body = self.read_body(LeaseBody)
        ask = Ask(
            pool=pool,
            worker=body["worker"],
            most=body["max"],
            lease_seconds=body["lease_seconds"],
            wait_seconds=body["wait_seconds"],
            labels=body["labels"],
            load=Load(
                version=body["version"],
                capacity=body["capacity"],
                cpu_percent=body["cpu_percent"],
                memory_bytes=body["memory_bytes"],
            ),
        )
        with transaction.atomic(durable=True):
            leases = pull_leases.lease(self.tenant_id, ask, actor=self.actor)
        pull_leases.noticed(self.tenant_id, ask, client_address(request))
        if not leases:
            labels = pull_leases.labels_text(ask.labels)
            ask_to_wait(request, Wait(self.tenant_id, ask.key, labels, ask.most, ask.wait_seconds))
        return Response({"leases": _present(leases)})


def _present(leases: list[Lease]) -> list[dict[str, Any]]:
    rows = Execution.objects.filter(id__in=[one.execution_id for one in leases])
    shown = {one["id"]: one for one in present_executions(rows)}
    return [
        {
            "execution": shown[str(one.execution_id)],
            "handler": one.handler,
            "payload": one.payload,
            "attempt": one.attempt,
            "scheduled_for": one.scheduled_for,
            "lease_expires_at": one.lease_expires_at,
            "fencing_token": one.fencing_token,
            "token": one.token,
            "progress": one.progress,
            "traceparent": one.traceparent,
            "tracestate": one.tracestate,
        }
        for one in leases
        if str(one.execution_id) in shown
    ]
