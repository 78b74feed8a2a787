"""Destinations as the API and ``--json`` answer them."""

from __future__ import annotations

from typing import Any

from executions.destinations.limits import Shown
from shared.instants import format_instant


def present_destination(found: Shown) -> dict[str, Any]:
    """Return a destination as plain JSON values."""
    return {
        "host": found.host,
        "circuit": found.circuit,
        "open_until": format_instant(found.open_until) if found.open_until else None,
        "calls": found.calls,
        "failures": found.failures,
        "in_flight": found.in_flight,
        "parked": found.parked,
        "tasks": found.tasks,
        "max_in_flight": found.max_in_flight,
        "rate_per_second": found.rate_per_second,
        "breaker": found.breaker,
        "version": found.version,
    }
