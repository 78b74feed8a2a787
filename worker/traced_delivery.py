"""Sends the span of each request, or of what runs in its place, of recorded traces.

The worker's loop puts it around the delivery where traces are recorded, and leaves it out where
none is. By the conventions for HTTP clients, but for the path and query of the URL, which are
sealed: both may hold a key.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from shared.addresses import TargetUrl
from shared.tracing import sending
from shared.tracing.sampling import context_of_attempt, is_recorded
from shared.tracing.spans import Kind, Part, Span, part_of
from wire.messages import Entry, Message
from wire.outcomes import Outcome
from worker.runner import Deliver

log = logging.getLogger("executions.engine.traced_delivery")

#: Returns what an entry calls; None where only its request says it, or for other kinds.
AddressOf = Callable[[Entry, Message], TargetUrl | None]

_REDACTED = "REDACTED"
_CANCELLED = "cancelled"


class TracedDelivery:
    """Delivers, and sends the span of each attempt of a recorded trace."""

    def __init__(self, deliver: Deliver, address_of: AddressOf) -> None:
        self._deliver = deliver
        self._address_of = address_of

    async def __call__(self, entry: Entry, batch: Message, started: float) -> Outcome:
        """Run one attempt and return its outcome; ``started`` is on Redis' clock."""
        if not is_recorded(entry["id"], entry.get("trace")):
            return await self._deliver(entry, batch, started)
        began = perf_counter()
        error, status = _CANCELLED, None
        try:
            outcome = await self._deliver(entry, batch, started)
            error, status = _error_of(outcome), outcome.get("status")
            return outcome
        except Exception:
            error = "internal"
            raise
        finally:
            seconds = perf_counter() - began
            try:
                sending.emit([self._span(entry, batch, started, seconds, error, status)])
            except Exception:  # an attempt does not fail for want of its span
                log.exception("span_of_delivery.not_made", extra={"execution_id": entry["id"]})

    def _span(
        self,
        entry: Entry,
        batch: Message,
        started: float,
        seconds: float,
        error: str,
        status: int | None,
    ) -> Span:
        start = started - batch["offset"]
        name, kind, attributes = self._described(entry, batch)
        if status is not None:
            attributes["http.response.status_code"] = status
        return Span(
            name,
            kind,
            context=context_of_attempt(entry["id"], entry.get("trace"), entry["attempt"]),
            span_id=part_of(entry["id"], entry["attempt"], Part.REQUEST),
            parent_id=part_of(entry["id"], entry["attempt"], Part.ATTEMPT),
            start=start,
            end=start + seconds,
            attributes=attributes,
            error=error,
        )

    def _described(
        self, entry: Entry, batch: Message
    ) -> tuple[str, Kind, dict[str, str | int | float | bool]]:
        target, attempt = entry["target"], entry["attempt"]
        kind = target.get("kind", "webhook")
        if kind != "webhook":
            return f"run {kind}", Kind.INTERNAL, {}
        method = str(target["method"])
        attributes: dict[str, str | int | float | bool] = {"http.request.method": method}
        if attempt > 1:
            attributes["http.request.resend_count"] = attempt - 1
        url = self._address_of(entry, batch)
        if url is not None:
            attributes["server.address"] = url.host
            attributes["server.port"] = url.port
            attributes["url.scheme"] = url.scheme
            attributes["url.full"] = f"{url.scheme}://{url.authority}/{_REDACTED}"
        elif destination := entry.get("destination"):
            attributes["server.address"] = destination
        return method, Kind.CLIENT, attributes


def _error_of(outcome: Outcome) -> str:
    """Return the class of the error: the status of an answer, or the code of what failed."""
    if outcome["verb"] == "cancelled":
        return _CANCELLED
    code, status = outcome.get("error_code", ""), outcome.get("status")
    return str(status) if code == "http_status" and status is not None else code
