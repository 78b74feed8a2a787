"""The check of the destination: its circuit, its rate, how many requests may be under way."""

from __future__ import annotations

from datetime import timedelta

from executions.destinations.limits import Shown
from insight.explain.answer import Check, Fix, told
from insight.explain.evidence import Situation
from wire.destination_key import RATE


def destination(found: Situation) -> Check:
    """Judge whether the host that it calls has free capacity."""
    row = found.row
    if row is None or not row.destination:
        return Check("destination", None, "it calls no host of a webhook yet")
    if not found.waiting or row.held or not (found.due or row.parked):
        return Check(
            "destination", None, f"this is checked when it may start; it calls {row.destination}"
        )
    shown = found.destination
    if shown is None:
        return Check("destination", None, f"no state of {row.destination} is known")
    if shown.circuit == "open" or (shown.circuit == "half_open" and row.parked):
        return _circuit(found, shown)
    if not row.parked:
        return Check("destination", True, f"{row.destination} has free capacity")
    return _limited(found, shown)


def _circuit(found: Situation, shown: Shown) -> Check:
    fix = Fix(
        "Close the circuit by hand once the receiver works again.",
        f"POST /v1/destinations/{shown.host}/reset",
        "destinations",
    )
    lately = f"{shown.failures} of {shown.calls} calls of the last minute failed."
    until = shown.open_until
    if until is None:
        says = f"the circuit of {shown.host} is half open: one call at a time tests the host"
        return Check("destination", False, says, lately, fix, found.now)
    says = f"the circuit of {shown.host} is open until {told(until)}"
    return Check("destination", False, says, f"{lately} Then one call tests it.", fix, until)


def _limited(found: Situation, shown: Shown) -> Check:
    fix = Fix(
        "Raise or lift the limits of the destination.",
        f"PATCH /v1/destinations/{shown.host}",
        "destinations",
    )
    wait = f"{shown.parked} wait for it."
    if shown.rate_per_second and (found.reason == RATE or shown.max_in_flight is None):
        until = found.now + timedelta(seconds=shown.parked / shown.rate_per_second)
        says = f"{shown.host} may be called {shown.rate_per_second:g} times a second"
        return Check("destination", False, says, wait, fix, until)
    if shown.max_in_flight is not None:
        says = f"{shown.in_flight} of {shown.max_in_flight} requests at a time go to {shown.host}"
        return Check("destination", False, says, wait, fix)
    says = (
        f"{shown.host} is slow: {shown.in_flight} requests are under way, and slots of the workers "
        "are kept for other destinations"
    )
    return Check("destination", False, says, wait)
