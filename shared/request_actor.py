"""Who makes a request, from where and in which trace: for views, pages and the admin alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.actor import Actor
from shared.client_address import client_address

if TYPE_CHECKING:
    from api.protocol.trace import Trace


def actor_of(request: Any, name: str) -> Actor:
    """Return the caller of a request that ``TraceMiddleware`` has seen, under this name."""
    address = client_address(request)
    trace: Trace | None = getattr(request, "trace", None)
    if trace is None:
        return Actor(name, address, str(getattr(request, "trace_id", "")))
    context = trace.context.to_text()
    return Actor(name, address, trace.trace_id, context, context if trace.continued else None)
