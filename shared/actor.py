"""Who makes a change, and from where; services pass it to the audit log.

Every door (view, command, Celery task) makes one; nothing in it is secret.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """A stable name (``api_key:<prefix>``, ``user:<id>``, ``command``), and where it came from."""

    name: str
    address: str = ""
    trace_id: str = ""
    #: The trace that executions made by the call continue, as :mod:`shared.trace_context` keeps it.
    trace: str = ""
    #: The same where the caller named it; None where it began with the call.
    callers_trace: str | None = None


#: The scheduler itself: automatic pauses, housekeeping.
SYSTEM = Actor("system")
#: A person with a shell on the machine.
COMMAND = Actor("command")
