"""``/v1/executions/{id}/heartbeat|complete|fail|release``: for the holder of the job's token.

The holder is a receiver that answered 202, or a worker that leased over the API. The token alone
authorizes the call. A call whose answer was lost can be sent again without an Idempotency-Key.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from api.executions.callback_serializers import (
    CompleteBody,
    EndingAnswer,
    FailBody,
    HeartbeatAnswer,
    HeartbeatBody,
    HolderBody,
)
from api.executions.token_authentication import ExecutionTokenAuthentication, Holder, HoldsToken
from api.protocol.views import PunctualView
from executions.external import callbacks, pull_leases
from executions.external.callbacks import Ending, Failure

#: Larger than any progress or result may be, once their JSON is packed.
_MAX_BODY_BYTES = 256 * 1024


class HolderView(PunctualView):
    """A call that the execution's own token alone may make."""

    authentication_classes = [ExecutionTokenAuthentication]
    permission_classes = [HoldsToken]
    scopes = {"POST": None}
    max_body_bytes = _MAX_BODY_BYTES

    def read(self, serializer: type[BaseSerializer[Any]]) -> tuple[dict[str, Any], int]:
        """Return the body and the fencing token; raise Conflict when they contradict."""
        body = self.read_body(serializer)
        proven = cast(Holder, self.request.user).fencing_token
        return body, callbacks.require_token(proven, body.get("fencing_token"))


class HeartbeatView(HolderView):
    """Keep a lease."""

    @extend_schema(
        operation_id="heartbeat_execution", request=HeartbeatBody, responses=HeartbeatAnswer
    )
    def post(self, request: Request, execution_id: UUID) -> Response:
        """Renew the lease and report progress.

        The lease never reaches beyond `max_runtime_seconds`, nor beyond 30 s after the request to
        cancel the job. 409 `stale_lease` when the lease has ended: stop then, another program may
        be running the job.
        """
        body, token = self.read(HeartbeatBody)
        with transaction.atomic(durable=True):
            beaten = callbacks.heartbeat(
                execution_id, token, body.get("progress"), body.get("extend_seconds")
            )
        pull_leases.heard(beaten)
        return Response(
            {
                "cancel_requested": beaten.cancel_requested,
                "lease_expires_at": beaten.lease_expires_at,
            }
        )


class CompleteView(HolderView):
    """End a job with success."""

    @extend_schema(operation_id="complete_execution", request=CompleteBody, responses=EndingAnswer)
    def post(self, request: Request, execution_id: UUID) -> Response:
        """End the job with success, also after a request to cancel it.

        A repeated call with the same token and result gets the same answer. 409 `stale_lease` when
        the lease is over, also after an end with another result or with a failure.
        """
        body, token = self.read(CompleteBody)
        with transaction.atomic(durable=True):
            ending = callbacks.complete(execution_id, token, body.get("result"))
        pull_leases.ended(ending)
        return Response(_present(ending))


class FailView(HolderView):
    """End a job with failure."""

    @extend_schema(operation_id="fail_execution", request=FailBody, responses=EndingAnswer)
    def post(self, request: Request, execution_id: UUID) -> Response:
        """End the attempt with failure: RETRYING, or FAILED when no retry is left or wanted.

        After a request to cancel it the job is CANCELLED. A repeated call with the same token and
        body gets the same answer. 409 `stale_lease` when the lease is over, also after an end with
        another error or with success.
        """
        body, token = self.read(FailBody)
        failure = Failure(body["error"], body["retry"], body.get("retry_delay_seconds"))
        with transaction.atomic(durable=True):
            ending = callbacks.fail(execution_id, token, failure)
        pull_leases.ended(ending)
        return Response(_present(ending))


class ReleaseView(HolderView):
    """Hand leased work back."""

    @extend_schema(operation_id="release_execution", request=HolderBody, responses=EndingAnswer)
    def post(self, request: Request, execution_id: UUID) -> Response:
        """Hand leased work back unstarted: PENDING again, no attempt used.

        409 `already_started` after its first heartbeat, `stale_lease` when the lease is over.
        """
        _, token = self.read(HolderBody)
        with transaction.atomic(durable=True):
            ending = callbacks.release(execution_id, token)
        return Response(_present(ending))


def _present(ending: Ending) -> dict[str, Any]:
    return {"id": ending.execution_id, "status": ending.status, "attempt": ending.attempt}
