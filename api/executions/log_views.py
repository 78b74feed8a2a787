"""``/v1/executions/{id}/log``: the captured log of a handler or a command. Needs ``read``."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from api.protocol.query import integer
from api.protocol.renderers import JSON
from api.protocol.views import PunctualView
from executions.captured_logs import captured_log
from executions.models import Execution

_MOST_ATTEMPTS = 32767
_TEXT = "text/plain"


class ExecutionLogView(PunctualView):
    """The captured log of an attempt."""

    reads = "execution"
    # JSON, too: callers of the other calls need no other header here.
    served_as = (_TEXT, JSON)
    problems = {409: "No key in use opens the log (`decryption_failed`)."}
    query_parameters = {
        "GET": {
            "attempt": integer(
                "Of this attempt; of the latest with a log unless given.",
                minimum=1,
                maximum=_MOST_ATTEMPTS,
            )
        }
    }

    @extend_schema(
        operation_id="get_execution_log",
        responses={(200, _TEXT): OpenApiTypes.STR},
    )
    def get(self, request: Request, execution_id: UUID) -> HttpResponse:
        """Show the captured output of a handler or a command, at most 64 KiB or as configured.

        404 where nothing was captured: webhooks, and work of external workers.
        """
        execution = Execution.objects.get_for_tenant(self.tenant_id, execution_id)
        found = captured_log(execution, self.query["attempt"])
        text = found.output.decode("utf-8", "replace")
        return HttpResponse(text, content_type=f"{_TEXT}; charset=utf-8")
