"""W3C trace context of a request: continue the caller's trace or begin one.

``TraceMiddleware`` sets ``request.trace``, ``request.trace_id`` and ``request.traceparent``;
problems, audit entries and executions read them.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

from shared.trace_context import TraceContext, read_state
from shared.tracing.sampling import context_of_call

# Version 00 has exactly four fields; later versions may have more, which are ignored.
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace and our own span's id."""

    context: TraceContext
    span_id: str
    #: The caller's span; '' where the trace begins here.
    parent_id: str = ""

    @property
    def continued(self) -> bool:
        """Return whether the caller named the trace."""
        return bool(self.parent_id)

    @property
    def trace_id(self) -> str:
        """Return the id of the trace."""
        return self.context.trace_id

    @property
    def traceparent(self) -> str:
        """Return the header for requests made on behalf of this one."""
        return self.context.traceparent(self.span_id)


def continue_trace(header: str, state: str = "") -> Trace:
    """Return the trace that the headers name, or a new one where they name none validly."""
    found = _TRACEPARENT.fullmatch(header.strip())
    span_id = secrets.token_hex(8)
    if not found:
        return _new_trace(span_id)
    version, trace_id, parent_id, flags, more = found.groups()
    invalid = version == "ff" or (version == "00" and more) or not int(trace_id, 16)
    if invalid or not int(parent_id, 16):
        return _new_trace(span_id)
    context = TraceContext(trace_id, flags, read_state(state))
    return Trace(context_of_call(context, is_callers=True, span_id=span_id), span_id, parent_id)


def _new_trace(span_id: str) -> Trace:
    context = TraceContext(secrets.token_hex(16))
    return Trace(context_of_call(context, is_callers=False, span_id=span_id), span_id)


def trace_id_of(request: Any) -> str:
    """Return the request's trace id, or nothing outside of the middleware."""
    return str(getattr(request, "trace_id", ""))
